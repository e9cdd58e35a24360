//! Many small numbers in a few words.

/// A product's state has at most so many bits.
pub const MAX_BITS: usize = 64 * MAX_WORDS;
/// The same in words.
pub(crate) const MAX_WORDS: usize = 64;
/// A component has at most so many states.
pub(crate) const MAX_LOCAL_STATES: usize = 1 << 30;

/// A packed state.
pub(crate) type State<const W: usize> = [u64; W];

/// Where in a packed state a component is.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Field {
    word: u32,
    shift: u32,
    mask: u64,
}

impl Field {
    /// The component's state.
    pub(crate) fn get<const W: usize>(self, state: &State<W>) -> u32 {
        ((state[self.index::<W>()] >> self.shift) & self.mask) as u32
    }

    /// Changes the component's state from one to another.
    pub(crate) fn change<const W: usize>(self, state: &mut State<W>, from: u32, to: u32) {
        state[self.index::<W>()] ^= u64::from(from ^ to) << self.shift;
    }

    fn index<const W: usize>(self) -> usize {
        if W == 1 { 0 } else { self.word as usize }
    }

    /// The word that it lies in.
    pub(crate) fn word(self) -> u32 {
        self.word
    }

    /// Its bits in that word.
    pub(crate) fn bits(self) -> u64 {
        self.mask << self.shift
    }

    /// A content, where it lies in that word.
    pub(crate) fn placed(self, value: u32) -> u64 {
        (u64::from(value) & self.mask) << self.shift
    }

    /// The field's content in words of any number.
    pub(crate) fn of(self, words: &[u64]) -> u32 {
        ((words[self.word as usize] >> self.shift) & self.mask) as u32
    }

    /// Sets the field's content, as many bits of the value as it has.
    pub(crate) fn set(self, words: &mut [u64], value: u32) {
        let word = &mut words[self.word as usize];
        *word = *word & !self.bits() | self.placed(value);
    }

    /// The field without its highest bit.
    pub(crate) fn without_top(self) -> Field {
        Field { mask: self.mask >> 1, ..self }
    }
}

/// Where everything is.
pub(crate) struct Layout {
    /// Of each count of states that was asked for, in that order.
    pub(crate) fields: Vec<Field>,
    /// The words needed, at least 1.
    pub(crate) words: usize,
    /// The bits needed.
    pub(crate) bits: usize,
}

/// Places one field for each count of states, the first word with room for it.
pub(crate) fn layout(counts: impl IntoIterator<Item = usize>) -> Layout {
    let mut used: Vec<u32> = vec![0];
    let (mut fields, mut bits) = (Vec::new(), 0);
    for count in counts {
        let width = usize::BITS - count.saturating_sub(1).leading_zeros();
        bits += width as usize;
        let word = used.iter().position(|&used| used + width <= u64::BITS).unwrap_or_else(|| {
            used.push(0);
            used.len() - 1
        });
        // A field without bits stands at shift 0, where its mask of nothing gives 0.
        let shift = if width == 0 { 0 } else { used[word] };
        fields.push(Field { word: word as u32, shift, mask: (1u64 << width) - 1 });
        used[word] += width;
    }
    Layout { fields, words: used.len(), bits }
}
