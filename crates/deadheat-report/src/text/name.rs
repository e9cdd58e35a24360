//! Names of functions as they are told.

use crate::group::without_decltype;

/// Names up to so many bytes are told whole.
const LONG: usize = 72;

/// What `std::string` stands for.
const STRINGS: [&str; 2] = [
    "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
    "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
];

/// A name of C++ or Rust with `std::string` for what that stands for; if it is long even then, without generic arguments,
/// parameters and the type of the result. Of Rust's `<Type as Trait>::function` both are kept.
pub(super) fn short(name: &str) -> String {
    let name = STRINGS.iter().fold(name.to_owned(), |name, string| name.replace(string, "std::string"));
    if name.len() <= LONG {
        return name;
    }
    let text = without_arguments(without_decltype(&name));
    if text.starts_with('<') || text.contains("operator") {
        return text;
    }
    let one_word = text.replace("(anonymous namespace)", "(anonymous-namespace)");
    let start = one_word.rfind(' ').map_or(0, |at| at + 1);
    text[start..].to_owned()
}

/// A name up to its parameters, with nothing in angle brackets but what Rust's begin with.
fn without_arguments(name: &str) -> String {
    /// In which no bracket opens or closes anything.
    const WORDS: [&str; 8] = [
        "(anonymous namespace)",
        "operator()",
        "operator<<",
        "operator>>",
        "operator->",
        "operator<",
        "operator>",
        "->",
    ];
    let mut text = String::new();
    let mut depth = 0_u32;
    let mut qualified = false;
    let mut rest = name;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let in_identifier = before.is_alphanumeric() || before == '_';
        before = c;
        let word = WORDS.iter().find(|word| rest.starts_with(**word));
        if let Some(word) = word.filter(|_| c == '-' || !in_identifier) {
            if depth == 0 {
                text.push_str(word);
            }
            rest = &rest[word.len()..];
            continue;
        }
        match c {
            '<' if text.is_empty() => qualified = true,
            '<' => depth += 1,
            '>' if depth == 0 => qualified = false,
            _ => {}
        }
        // The parameters begin.
        if c == '(' && depth == 0 && !qualified {
            break;
        }
        if c == '<' && depth == 1 && text.ends_with("::") {
            // Rust's arguments of a function.
            text.truncate(text.len() - 2);
        }
        if depth == 0 {
            text.push(c);
        }
        if c == '>' {
            depth = depth.saturating_sub(1);
        }
        rest = &rest[c.len_utf8()..];
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{short, without_arguments};

    #[test]
    fn what_is_short_is_told_whole() {
        for name in ["worker", "Cache<int>::put(int)", "<app::Cell<u32>>::store", "app::work::<(), 3>"] {
            assert_eq!(short(name), name);
        }
    }

    #[test]
    fn a_long_name_keeps_its_type_and_its_function() {
        let cases = [
            ("void all<int>(std::vector<int>)", "void all"),
            ("std::map<int, std::less<int> >::operator[](int const&)", "std::map::operator[]"),
            ("std::function<void ()>::operator()() const", "std::function::operator()"),
            ("bool std::operator< <char, int>(char, int)", "bool std::operator<"),
            ("std::shared_ptr<int>::operator->() const", "std::shared_ptr::operator->"),
            ("std::basic_ostream<char>::operator<< <int>(int)", "std::basic_ostream::operator<<"),
            ("int my_operator<int>(int)", "int my_operator"),
            ("(anonymous namespace)::Cache<int>::put(int)", "(anonymous namespace)::Cache::put"),
            ("<app::Cell<u32, Vec<u64>>>::store", "<app::Cell>::store"),
            (
                "<app::Cell<u32> as core::ops::FnOnce<(u8,)>>::call_once",
                "<app::Cell as core::ops::FnOnce>::call_once",
            ),
            (
                "<(u8, [app::Cell<u32>; 4]) as app::Read<u8>>::read::<u8>",
                "<(u8, [app::Cell; 4]) as app::Read>::read",
            ),
            ("<fn(u8) -> u8 as app::Call>::call", "<fn(u8) -> u8 as app::Call>::call"),
            ("app::work::<fn(u8) -> u8, ()>::{closure#0}", "app::work::{closure#0}"),
        ];
        for (name, expected) in cases {
            assert_eq!(without_arguments(name), expected);
        }
    }

    #[test]
    fn the_result_s_type_is_left_out() {
        let arguments = "int, ".repeat(20);
        assert_eq!(short(&format!("unsigned long app::all<{arguments}>(int)")), "app::all");
        assert_eq!(
            short(&format!("void (anonymous namespace)::all<{arguments}>(int)")),
            "(anonymous namespace)::all"
        );
        for result in ["decltype(auto)", "decltype (((f)())(1))"] {
            assert_eq!(short(&format!("{result} app::all<{arguments}>(int)")), "app::all");
        }
        assert_eq!(
            short(&format!("<app::Cell<{arguments}> as app::Read>::read")),
            "<app::Cell as app::Read>::read"
        );
    }
}
