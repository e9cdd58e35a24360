//! Weaves: several accesses of a loop's body that go over one range of bytes together.
//!
//! A compiler that unrolls a loop makes several places of one: each touches every second (or every sixth) element, and only
//! all of them fill a range. A *weave* is what they have in common, so that one site stands for them and
//! the cells of the range say the same; which of its *strands* touched a byte follows from the byte's address.
//!
//! Invariant: a weave's number is never given to another; there are at most [`WEAVES_AT_MOST`].

use deadheat_core::ids::PlaceId;
use deadheat_core::plain::Strided;
use rustc_hash::FxHashMap;

/// A program has fewer unrolled loops than that, each begun at one or another of its strands. Beyond it, strands
/// are taken one by one.
const WEAVES_AT_MOST: usize = 1 << 16;

/// The places of a weave and where their accesses lie. All strands have one size and one period.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Weave {
    /// The size of an access.
    size: u64,
    /// The first access's address modulo the period, which is the size of an access for each place.
    phase: u64,
    /// The places, in the order of their addresses.
    places: Vec<PlaceId>,
}

impl Weave {
    fn period(&self) -> u64 {
        self.size * self.places.len() as u64
    }

    /// Becomes the weave of these strands.
    fn set(&mut self, strands: &[Strided]) {
        self.places.clear();
        self.places.extend(strands.iter().map(|strand| strand.first.place));
        let first = &strands[0].first;
        self.size = first.form.size();
        self.phase = first.address % self.period();
    }
}

/// All weaves.
#[derive(Debug)]
pub(crate) struct Weaves {
    weaves: Vec<Weave>,
    known: FxHashMap<Weave, u32>,
    /// What is looked for.
    wanted: Weave,
}

impl Default for Weaves {
    fn default() -> Self {
        let wanted = Weave { size: 0, phase: 0, places: Vec::new() };
        Self { weaves: Vec::new(), known: FxHashMap::default(), wanted }
    }
}

impl Weaves {
    /// The number of the weave of a [`bundle`], in a place's stead; `None` if there are too many.
    pub(crate) fn number(&mut self, strands: &[Strided]) -> Option<PlaceId> {
        self.wanted.set(strands);
        if let Some(&number) = self.known.get(&self.wanted) {
            return Some(PlaceId(number));
        }
        let number = self.weaves.len();
        if number == WEAVES_AT_MOST {
            return None;
        }
        self.weaves.push(self.wanted.clone());
        self.known.insert(self.wanted.clone(), number as u32);
        Some(PlaceId(number as u32))
    }

    /// The place that touched `byte`, and the address of the access.
    pub(crate) fn strand(&self, number: PlaceId, byte: u64) -> (PlaceId, u64) {
        let weave = &self.weaves[number.0 as usize];
        let period = weave.period();
        let within = (byte % period + period - weave.phase) % period;
        (weave.places[(within / weave.size) as usize], byte - within % weave.size)
    }

    /// About how many bytes the weaves take.
    pub(crate) fn memory(&self) -> usize {
        let places: usize = self.weaves.iter().map(|weave| weave.places.capacity()).sum();
        2 * (places * size_of::<PlaceId>() + self.weaves.capacity() * size_of::<Weave>())
    }
}

/// Puts those side by side that may be strands of one weave, in the order of their addresses.
pub(crate) fn sort(strands: &mut [Strided]) {
    strands.sort_unstable_by_key(|strand| (strand.stride, strand.first.form.bits(), strand.first.address));
}

/// How many of the sorted strands make a weave with the first of them, which may be one alone; they are put in front.
pub(crate) fn bundle(strands: &mut [Strided]) -> Option<usize> {
    let first = strands.first()?;
    let (size, step) = (first.first.form.size(), (first.stride as i64).unsigned_abs());
    let wanted = (step / size) as usize;
    if !step.is_multiple_of(size) || wanted == 0 || wanted > strands.len() {
        return None;
    }
    let mut found = 1;
    for at in 1..strands.len() {
        if found < wanted && follows(&strands[found - 1], &strands[at]) {
            strands[found..=at].rotate_right(1);
            found += 1;
        }
    }
    if found == wanted {
        return Some(wanted);
    }
    // What was put in front goes back to where it was.
    sort(strands);
    None
}

/// Whether a strand's accesses are those that come behind another's.
fn follows(one: &Strided, next: &Strided) -> bool {
    let (a, b) = (&one.first, &next.first);
    (one.stride, a.form, a.stack) == (next.stride, b.form, b.stack)
        && a.address.checked_add(a.form.size()) == Some(b.address)
}

/// The range that the strands of a weave fill in so many turns, if it is within the address space.
pub(crate) fn range(strands: &[Strided], turns: u32) -> Option<(u64, u64)> {
    let &Strided { first, stride } = strands.first()?;
    let len = (stride as i64).unsigned_abs().checked_mul(u64::from(turns))?;
    let back = if (stride as i64) < 0 { len - stride.wrapping_neg() } else { 0 };
    let start = first.address.checked_sub(back)?;
    Some((start, start.checked_add(len)?))
}

#[cfg(test)]
mod tests {
    use deadheat_core::access::{Access, Mode};
    use deadheat_core::ids::StackId;
    use deadheat_core::plain::{Form, Plain};

    use super::*;

    fn strand(address: u64, size: u64, place: u32, stride: i64) -> Strided {
        let form = Form::of(&Access::plain(0, size, Mode::Read)).unwrap();
        let first = Plain { address, place: PlaceId(place), stack: StackId::EMPTY, form };
        Strided { first, stride: stride as u64 }
    }

    /// Each byte that the loop touches is told with the access that touched it.
    fn check(mut strands: Vec<Strided>, wanted: usize, rest: usize) {
        const TURNS: u32 = 7;
        sort(&mut strands);
        let mut weaves = Weaves::default();
        assert_eq!(bundle(&mut strands), Some(wanted));
        let (woven, others) = strands.split_at(wanted);
        assert_eq!(others.len(), rest);
        let (start, end) = range(woven, TURNS).unwrap();
        let number = weaves.number(woven).unwrap();
        assert_eq!(weaves.number(woven), Some(number));
        let mut bytes = 0;
        for access in (0..TURNS).flat_map(|turn| woven.iter().map(move |strand| strand.at(turn))) {
            for byte in access.address..access.address + access.form.size() {
                assert!((start..end).contains(&byte));
                assert_eq!(weaves.strand(number, byte), (access.place, access.address));
                bytes += 1;
            }
        }
        assert_eq!(bytes, end - start);
    }

    #[test]
    fn strands_are_told_apart_by_the_address() {
        for base in 0x1000..0x1080 {
            for stride in [48, -48] {
                check((0..6).map(|n| strand(base + 8 * n, 8, 1 + n as u32, stride)).collect(), 6, 0);
                check((0..3).map(|n| strand(base + 16 * n, 16, 1 + n as u32, stride)).collect(), 3, 0);
            }
            check(vec![strand(base, 4, 1, 4)], 1, 0);
        }
    }

    #[test]
    fn strands_are_found_among_others() {
        let strands = [(16, 3), (0, 1), (8, 2), (24, 4), (8, 5), (0, 6), (40, 7)];
        check(strands.iter().map(|&(at, place)| strand(0x100 + at, 8, place, 32)).collect(), 4, 3);
    }

    #[test]
    fn what_leaves_gaps_or_overlaps_is_no_weave() {
        for strands in [
            vec![strand(0, 8, 1, 16)],
            vec![strand(0, 8, 1, 16), strand(12, 8, 2, 16)],
            vec![strand(0, 8, 1, 16), strand(8, 8, 2, 24)],
            vec![strand(0, 8, 1, 16), strand(8, 4, 2, 16), strand(12, 4, 2, 16)],
            vec![strand(0, 8, 1, 12), strand(8, 8, 2, 12)],
            vec![strand(0, 8, 1, 0), strand(8, 8, 2, 0)],
        ] {
            let mut sorted = strands.clone();
            sort(&mut sorted);
            assert_eq!(bundle(&mut sorted), None, "{strands:?}");
        }
        let end = !7;
        assert_eq!(range(&[strand(end - 8, 8, 1, 16), strand(end, 8, 2, 16)], 1), None);
        assert_eq!(range(&[strand(8, 8, 1, -16), strand(16, 8, 2, -16)], 2), None);
    }
}
