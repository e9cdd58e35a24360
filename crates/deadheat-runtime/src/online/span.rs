//! Spans: neighbouring cells that say the same, of which one says it for all.
//!
//! A buffer that is read into, copied from and written out is accessed in long ranges, again and again. Each of its cells has the same two words then, and
//! each would take a locked operation a time. So the 64 cells of 512 bytes become a span: the first word of each is [`WIDE`], and the span's own two words are in
//! the second places of its first two cells. A range that has all of a span is published by one compare-and-swap there.
//!
//! `WIDE` looks like a seal, so whoever comes to a cell of a span by any other way waits for it to go as for that of a cell that grows; [`unfold`] makes it go. So no
//! other way into a cell knows of spans.
//!
//! **None is missed.** Who makes a span replaces each cell's words by compare-and-swaps, of words that it has judged; what was published in a cell meanwhile makes that fail, and all is put
//! back. A cell has `WIDE` from before the access is published until the span's words are in it, and whoever comes waits for that. The words of a span are changed
//! as those of a cell are ([`super::pair`]), and sealed before they are given back to its cells. They look like seals themselves, so that nobody who saw half of a cell
//! before it became one of a span takes one for a word of that: his compare-and-swap fails, and he comes anew.
//!
//! Checked by a model checker in `tests/model.rs` and against a brute-force oracle in `tests/shadow.rs`.

use super::pair::{Entered, Room, commit, goes_with_end, room, room_to_end, words};
use super::set::Seen;
use super::word::{ENDED, NOTHING, SEALED, WIDE, can_be_said, is_birth, is_said, meant, said};
use crate::sys::primitive::{AtomicU64, Ordering};

type Cell = [AtomicU64; 2];

/// How many cells a span has.
pub(crate) const CELLS: usize = 64;

/// The words of a span, whose places these are, if it is one.
#[inline(always)]
fn words_of([first, second]: [&Cell; 2]) -> Option<[u64; 2]> {
    if first[0].load(Ordering::Acquire) != WIDE {
        return None;
    }
    let words = [first[1].load(Ordering::Acquire), second[1].load(Ordering::Acquire)];
    (is_said(words[0]) && is_said(words[1])).then_some(words)
}

/// How often somebody looks for a cell of a span to get its words until he takes it for one that nobody remembers.
const LOST: u32 = 1 << 20;

/// Gives the cells of a span its words, of which this is one, because somebody comes to it who has looked so often; `false` if it may have to be looked again.
///
/// # Safety
/// The cell is one of those of a region, which begin at a page.
#[cold]
#[inline(never)]
pub(crate) unsafe fn leave(cell: &Cell, looked: u32) -> bool {
    let first = core::ptr::from_ref(cell) as usize & !(CELLS * size_of::<Cell>() - 1);
    // SAFETY: the caller's promise: a region has whole spans.
    let left = unfold(unsafe { core::slice::from_raw_parts(first as *const Cell, CELLS) });
    if !left && looked > LOST {
        // A block was given a new life while somebody used it out of order: nobody is about to do it.
        let _ = cell[0].compare_exchange(WIDE, 0, Ordering::SeqCst, Ordering::Relaxed);
    }
    left
}

/// What spans were worth to a thread so far: it makes some of cells that are not empty if those that it met saved more than that costs.
pub(crate) struct Worth(pub(crate) u32);

impl Worth {
    /// What one is made for, and somebody gives back to its cells at once, in accesses that find one.
    const COST: u32 = 2;
    pub(crate) const MOST: u32 = 64;

    /// An access was published in cells whose first word was this.
    #[inline(always)]
    fn count(&mut self, first: u64) {
        if first == WIDE {
            self.0 = (self.0 + 1).min(Self::MOST);
        } else if first != 0 {
            self.0 -= Self::COST;
        }
    }

    #[inline(always)]
    const fn is_enough(&self) -> bool {
        self.0 >= Self::COST
    }
}

/// Publishes a plain access of all bytes of the cells that are a span or can become one: those that are empty, or have the same words if that is `worth` it. `mine`: its word. What
/// [met](Entered::Met) somebody is to be published in each cell and judged.
#[inline]
pub(crate) fn over(seen: &impl Seen, cells: &[Cell], mine: u64, worth: &mut Worth) -> Entered {
    let first = cells.first().map_or(0, |cell| cell[0].load(Ordering::Relaxed));
    if first != WIDE && first != 0 && !worth.is_enough() {
        return Entered::No;
    }
    let entered = enter(seen, cells, mine);
    if entered == Entered::Yes {
        worth.count(first);
    }
    entered
}

/// As [`over`], whatever it is worth.
#[inline(always)]
fn enter(seen: &impl Seen, cells: &[Cell], mine: u64) -> Entered {
    let [first, second, ..] = cells else { return Entered::No };
    let [one, other] = words(first);
    if one == WIDE {
        let Some([one, other]) = words_of([first, second]) else { return Entered::No };
        return match room(seen, [meant(one), meant(other)], mine) {
            Room::There => Entered::There,
            Room::First => commit([&first[1], &second[1]], [one, said(mine), other]),
            Room::Second => commit([&second[1], &first[1]], [other, said(mine), one]),
            Room::None => Entered::No,
        };
    }
    if !can_be_said(one) || !can_be_said(other) {
        return Entered::No;
    }
    let new = match room(seen, [one, other], mine) {
        Room::First => [mine, other],
        Room::Second => [one, mine],
        Room::There | Room::None => return Entered::No,
    };
    fold(cells, [one, other], new.map(said))
}

/// Publishes the write `mine` of all bytes by which the life of a block ends that has these cells, if they are a span or say the same, as [`super::pair::end`] does in a cell.
pub(crate) fn end(seen: &impl Seen, cells: &[Cell], mine: u64) -> Entered {
    let [first, second, ..] = cells else { return Entered::No };
    let Some([one, other]) = words_of([first, second]) else { return end_of_cells(seen, cells, mine) };
    match room_to_end(seen, [meant(one), meant(other)], mine) {
        Room::First => {
            let entered = commit([&first[1], &second[1]], [one, said(mine) | ENDED, other]);
            if goes_with_end(meant(other), mine) {
                let _ = second[1].compare_exchange(other, NOTHING, Ordering::SeqCst, Ordering::Relaxed);
            }
            entered
        }
        Room::Second => commit([&second[1], &first[1]], [other, said(mine) | ENDED, one]),
        Room::There | Room::None => Entered::No,
    }
}

/// As [`end`], of cells that are no span, if nobody used them since the block was born: nobody may use the next one there either.
fn end_of_cells(seen: &impl Seen, cells: &[Cell], mine: u64) -> Entered {
    let birth = words(&cells[0]);
    let is_unused = birth[1] == 0
        && (birth[0] == 0 || is_birth(birth[0]) && can_be_said(birth[0]) && seen.ordered(birth[0]));
    if !is_unused || words(&cells[1]) != birth {
        return Entered::No;
    }
    fold(cells, birth, [said(mine) | ENDED, NOTHING])
}

/// Whether these cells are a span.
pub(crate) fn is_one(cells: &[Cell]) -> bool {
    matches!(cells, [first, second, ..] if words_of([first, second]).is_some())
}

/// Makes a span as if nothing had happened to its bytes but what `word` says, or 0, and a span it stays; `false` if these cells are none, or a span cannot say that.
pub(crate) fn begin(cells: &[Cell], word: u64) -> bool {
    let [first, second, ..] = cells else { return false };
    let Some([one, _]) = words_of([first, second]).filter(|_| can_be_said(word)) else { return false };
    if first[1].compare_exchange(one, SEALED, Ordering::SeqCst, Ordering::Relaxed).is_err() {
        return false;
    }
    second[1].store(NOTHING, Ordering::Release);
    first[1].store(said(word), Ordering::Release);
    true
}

/// Makes a span that has [said](said) `new` of cells that have the words `old`, if all of them do.
#[inline(never)]
fn fold(cells: &[Cell], old: [u64; 2], new: [u64; 2]) -> Entered {
    if !cells.iter().all(|cell| words(cell) == old) {
        return Entered::No;
    }
    let take = |cell: &Cell| {
        let swap = |at: usize, to| {
            cell[at].compare_exchange(old[at], to, Ordering::SeqCst, Ordering::Relaxed).is_ok()
        };
        if !swap(0, WIDE) {
            return false;
        }
        // Who finds a cell empty goes to its first place.
        let taken = if old == [0; 2] { cell[1].load(Ordering::Acquire) == 0 } else { swap(1, SEALED) };
        if !taken {
            cell[0].store(old[0], Ordering::Release);
        }
        taken
    };
    let taken = cells.iter().take_while(|cell| take(cell)).count();
    if taken < cells.len() {
        give(&cells[..taken], old);
        return Entered::No;
    }
    cells[1][1].store(new[1], Ordering::Release);
    cells[0][1].store(new[0], Ordering::SeqCst);
    Entered::Yes
}

/// Gives the cells of a span these words, the first cell last: as long as another is one of a span, so is that.
fn give(cells: &[Cell], [one, other]: [u64; 2]) {
    for cell in cells.iter().rev() {
        cell[1].store(other, Ordering::Release);
        cell[0].store(one, Ordering::Release);
    }
}

/// Gives the cells of a span its words; `false` if somebody else is about to do so, or to make it.
pub(crate) fn unfold(cells: &[Cell]) -> bool {
    let [first, second, ..] = cells else { return false };
    let one = first[1].load(Ordering::Acquire);
    if first[0].load(Ordering::Acquire) != WIDE
        || !is_said(one)
        || first[1].compare_exchange(one, SEALED, Ordering::SeqCst, Ordering::Relaxed).is_err()
    {
        return false;
    }
    let other = second[1].swap(SEALED, Ordering::SeqCst);
    give(cells, [meant(one), meant(other)]);
    true
}
