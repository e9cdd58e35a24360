//! The formats of `printf` and `scanf`: which arguments their directives take, and what is read and written through these.
//!
//! Invariant: nothing is named that the C library would not come to; a directive that is not known ends the look.

use core::mem::MaybeUninit;

/// More arguments of one call are not looked at.
const MOST: usize = 64;

/// How an argument is handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Class {
    /// A number or a pointer.
    #[default]
    Word,
    Double,
    LongDouble,
}

/// How much of a text is read at the most.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Limit {
    #[default]
    None,
    Units(usize),
    /// As the argument of this number says.
    Argument(usize),
}

/// What is done through an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Use {
    #[default]
    Nothing,
    /// A text is read or written, with the zero at its end.
    Text(Limit),
    /// The same, of wide characters.
    WideText(Limit),
    /// So many bytes are written.
    Bytes(usize),
    /// The text's address is written.
    Made,
    /// How much was written or read so far is stored in so many bytes.
    Count(usize),
}

/// An argument of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Argument {
    pub(super) class: Class,
    pub(super) used: Use,
    /// Of `scanf`: whether what stands in front of it, back to the last value, is nothing that could fail.
    pub(super) follows: bool,
    /// What it is, once that was looked up, if it is a word.
    pub(super) word: usize,
}

/// The arguments of a call.
pub(super) struct Arguments {
    /// The first `count` are there. A call has few, and all would be half of what it costs.
    rows: [MaybeUninit<Argument>; MOST],
    count: usize,
    /// The number of the next one, where the format does not number them.
    next: usize,
}

impl Arguments {
    /// Those in front of the first that is not known.
    pub(super) fn rows(&self) -> &[Argument] {
        // SAFETY: so many are there.
        unsafe { core::slice::from_raw_parts(self.rows.as_ptr().cast(), self.count) }
    }

    /// As [`Self::rows`].
    pub(super) fn rows_mut(&mut self) -> &mut [Argument] {
        // SAFETY: as there.
        unsafe { core::slice::from_raw_parts_mut(self.rows.as_mut_ptr().cast(), self.count) }
    }

    /// None yet.
    #[inline(always)]
    pub(super) const fn new() -> Arguments {
        Arguments { rows: [const { MaybeUninit::uninit() }; MOST], count: 0, next: 0 }
    }

    /// Takes the argument of that number, or the next one. Nothing if there is no room for it.
    fn take(&mut self, number: Option<usize>, argument: Argument) -> Option<usize> {
        let at = match number {
            Some(number) => number.checked_sub(1)?,
            None => {
                self.next += 1;
                self.next - 1
            }
        };
        while self.count <= at {
            self.rows.get_mut(at)?;
            self.rows[self.count].write(Argument::default());
            self.count += 1;
        }
        // A text that two directives write is read once.
        let row = &mut self.rows_mut()[at];
        if row.used == Use::Nothing {
            *row = argument;
        }
        Some(at)
    }
}

/// A format, from the next character on.
struct Cursor<F> {
    character: F,
    at: usize,
}

impl<F: Fn(usize) -> u8> Cursor<F> {
    fn peek(&self) -> u8 {
        (self.character)(self.at)
    }

    fn is(&mut self, wanted: &[u8]) -> Option<u8> {
        let next = self.peek();
        let found = next != 0 && wanted.contains(&next);
        self.at += usize::from(found);
        found.then_some(next)
    }

    fn number(&mut self) -> Option<usize> {
        let mut number = None;
        while let Some(digit) = self.is(b"0123456789") {
            let digit = usize::from(digit - b'0');
            number = Some(number.unwrap_or(0_usize).saturating_mul(10).saturating_add(digit));
        }
        number
    }

    /// `N$`, if that is next.
    fn position(&mut self) -> Option<usize> {
        let start = self.at;
        let number = self.number();
        if number.is_some() && self.is(b"$").is_some() {
            return number;
        }
        self.at = start;
        None
    }

    /// The length in front of a conversion.
    fn length(&mut self) -> Length {
        match self.is(b"hlqLjztZ") {
            Some(b'h') => self.is(b"h").map_or(Length::Short, |_| Length::Char),
            Some(b'l') => self.is(b"l").map_or(Length::Long, |_| Length::LongLong),
            Some(b'q' | b'L') => Length::LongLong,
            Some(_) => Length::Long,
            None => Length::Plain,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Length {
    Char,
    Short,
    Plain,
    Long,
    LongLong,
}

impl Length {
    /// The bytes of an integer.
    fn integer(self) -> usize {
        match self {
            Length::Char => 1,
            Length::Short => 2,
            Length::Plain => 4,
            Length::Long | Length::LongLong => 8,
        }
    }

    /// The bytes of a number with a point.
    fn real(self) -> usize {
        match self {
            Length::LongLong => 16,
            Length::Long => 8,
            _ => 4,
        }
    }
}

/// Adds the arguments that `printf` takes for a format, whose characters are asked for one behind the other up to the zero at its end.
pub(super) fn of_print(arguments: &mut Arguments, character: impl Fn(usize) -> u8) {
    let mut cursor = Cursor { character, at: 0 };
    loop {
        match cursor.peek() {
            0 => return,
            b'%' => {
                cursor.at += 1;
                if print_directive(&mut cursor, arguments).is_none() {
                    return;
                }
            }
            _ => cursor.at += 1,
        }
    }
}

fn print_directive<F: Fn(usize) -> u8>(cursor: &mut Cursor<F>, arguments: &mut Arguments) -> Option<()> {
    let word = |used| Argument { used, ..Argument::default() };
    let position = cursor.position();
    while cursor.is(b" -+#0'I").is_some() {}
    if cursor.is(b"*").is_some() {
        let position = cursor.position();
        arguments.take(position, word(Use::Nothing))?;
    } else {
        cursor.number();
    }
    let mut limit = Limit::None;
    if cursor.is(b".").is_some() {
        limit = if cursor.is(b"*").is_some() {
            let position = cursor.position();
            Limit::Argument(arguments.take(position, word(Use::Nothing))?)
        } else {
            // A precision below zero is as none.
            let negative = cursor.is(b"-").is_some();
            let number = cursor.number().unwrap_or(0);
            if negative { Limit::None } else { Limit::Units(number) }
        };
    }
    let length = cursor.length();
    let conversion = cursor.peek();
    cursor.at += usize::from(conversion != 0);
    let argument = match conversion {
        b'%' | b'm' => return Some(()),
        b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'c' | b'C' | b'p' | b'b' | b'B' => word(Use::Nothing),
        b's' if length == Length::Plain => word(Use::Text(limit)),
        b's' | b'S' => word(Use::WideText(limit)),
        b'n' => word(Use::Count(length.integer())),
        b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => {
            let class = if length == Length::LongLong { Class::LongDouble } else { Class::Double };
            Argument { class, ..Argument::default() }
        }
        _ => return None,
    };
    arguments.take(position, argument).map(drop)
}

/// Adds the arguments that `scanf` takes for a format, whose characters are asked for one behind the other up to the zero at its end.
pub(super) fn of_scan(arguments: &mut Arguments, character: impl Fn(usize) -> u8) {
    let mut cursor = Cursor { character, at: 0 };
    let mut follows = false;
    loop {
        match cursor.peek() {
            0 => return,
            b'%' => {
                cursor.at += 1;
                if scan_directive(&mut cursor, arguments, &mut follows).is_none() {
                    return;
                }
            }
            blank => {
                // Blanks stand for any number of them.
                follows &= blank.is_ascii_whitespace();
                cursor.at += 1;
            }
        }
    }
}

fn scan_directive<F: Fn(usize) -> u8>(
    cursor: &mut Cursor<F>,
    arguments: &mut Arguments,
    follows: &mut bool,
) -> Option<()> {
    let position = cursor.position();
    let suppressed = cursor.is(b"*").is_some();
    while cursor.is(b"'I").is_some() {}
    let width = cursor.number();
    let made = cursor.is(b"m").is_some();
    let length = cursor.length();
    let wide = matches!(length, Length::Long | Length::LongLong);
    let conversion = cursor.peek();
    cursor.at += usize::from(conversion != 0);
    let text = |wide: bool| match (made, wide) {
        (true, _) => Use::Made,
        (false, true) => Use::WideText(Limit::None),
        (false, false) => Use::Text(Limit::None),
    };
    let used = match conversion {
        b'%' => {
            *follows = false;
            return Some(());
        }
        b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'b' => Use::Bytes(length.integer()),
        b'p' => Use::Bytes(size_of::<usize>()),
        b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => Use::Bytes(length.real()),
        b'c' | b'C' if made => Use::Made,
        b'c' if !wide => Use::Bytes(width.unwrap_or(1)),
        b'c' | b'C' => Use::Bytes(width.unwrap_or(1).saturating_mul(size_of::<u32>())),
        b's' => text(wide),
        b'S' => text(true),
        b'[' => {
            pass_set(cursor)?;
            text(wide)
        }
        b'n' => Use::Count(length.integer()),
        _ => return None,
    };
    let counts = matches!(used, Use::Count(_));
    if suppressed {
        *follows &= counts;
        return Some(());
    }
    arguments.take(position, Argument { used, follows: *follows, ..Argument::default() })?;
    *follows |= !counts;
    Some(())
}

/// Passes by the characters of `[…]`; nothing if they do not end.
fn pass_set<F: Fn(usize) -> u8>(cursor: &mut Cursor<F>) -> Option<()> {
    cursor.is(b"^");
    cursor.is(b"]");
    loop {
        match cursor.peek() {
            0 => return None,
            b']' => {
                cursor.at += 1;
                return Some(());
            }
            _ => cursor.at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use self::std::vec;
    use self::std::vec::Vec;

    use super::{Argument, Arguments, Class, Limit, MOST, Use};

    fn characters(format: &str) -> impl Fn(usize) -> u8 {
        move |at| format.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn of_print(character: impl Fn(usize) -> u8) -> Arguments {
        let mut arguments = Arguments::new();
        super::of_print(&mut arguments, character);
        arguments
    }

    fn of_scan(character: impl Fn(usize) -> u8) -> Arguments {
        let mut arguments = Arguments::new();
        super::of_scan(&mut arguments, character);
        arguments
    }

    fn uses(arguments: &Arguments) -> Vec<Use> {
        arguments.rows().iter().map(|row| row.used).collect()
    }

    #[test]
    fn what_is_printed_takes_its_arguments() {
        const TEXT: Use = Use::Text(Limit::None);
        for (format, expected) in [
            ("", vec![]),
            ("100%%\n%m", vec![]),
            ("%d of %s\n", vec![Use::Nothing, TEXT]),
            ("%-10.3s|%.s|%.-3s", vec![Use::Text(Limit::Units(3)), Use::Text(Limit::Units(0)), TEXT]),
            ("%*.*s", vec![Use::Nothing, Use::Nothing, Use::Text(Limit::Argument(1))]),
            ("%2$s %1$*3$d", vec![Use::Nothing, TEXT, Use::Nothing]),
            ("%1$s %1$s", vec![TEXT]),
            ("%ls%S", vec![Use::WideText(Limit::None); 2]),
            ("%hhn%hn%n%ln%zn", [1, 2, 4, 8, 8].map(Use::Count).to_vec()),
            ("%s %y %s", vec![TEXT]),
            ("%s %", vec![TEXT]),
            ("%0$s", vec![]),
            ("%99999999999999999999$s", vec![]),
        ] {
            assert_eq!(uses(&of_print(characters(format))), expected, "{format}");
        }
        assert_eq!(of_print(characters(&"%s".repeat(100))).rows().len(), MOST);
    }

    #[test]
    fn numbers_with_a_point_lie_elsewhere() {
        let classes = |format: &str| -> Vec<Class> {
            of_print(characters(format)).rows().iter().map(|row| row.class).collect()
        };
        assert_eq!(
            classes("%f %+5.2lf %Lg %d"),
            [Class::Double, Class::Double, Class::LongDouble, Class::Word]
        );
    }

    #[test]
    fn what_is_scanned_goes_to_its_arguments() {
        const TEXT: Use = Use::Text(Limit::None);
        for (format, expected) in [
            ("%d%hhu%lx%Lf%f%p", [4, 1, 8, 16, 4, 8].map(Use::Bytes).to_vec()),
            ("%*d %31s%%", vec![TEXT]),
            ("%[^]abc]%[]x]%[a-z", vec![TEXT, TEXT]),
            ("%c%10c%lc%2lc", [1, 10, 4, 8].map(Use::Bytes).to_vec()),
            ("%ms%m[x]%mc%ls", vec![Use::Made, Use::Made, Use::Made, Use::WideText(Limit::None)]),
            ("%2$d %1$s", vec![TEXT, Use::Bytes(4)]),
            ("%d%y%d", vec![Use::Bytes(4)]),
        ] {
            assert_eq!(uses(&of_scan(characters(format))), expected, "{format}");
        }
    }

    /// A count that stands right behind a value is stored as soon as that is there; one behind a text that may not match is not.
    #[test]
    fn a_count_follows_a_value() {
        let follows =
            |format: &str| of_scan(characters(format)).rows().last().map(|row: &Argument| row.follows);
        for (format, expected) in [
            ("%d%n", true),
            ("%d \t%n", true),
            ("%d,%n", false),
            ("%n", false),
            ("%d%*d%n", false),
            ("%d%n%n", true),
        ] {
            assert_eq!(follows(format), Some(expected), "{format}");
        }
    }
}
