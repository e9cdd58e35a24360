//! Splitting text into arguments, as response files and `DEADHEAT_CC` have it: blanks separate,
//! single and double quotes keep together, a backslash takes the next character as it is.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The arguments in `text`.
pub(crate) fn split(text: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (_, b'\\') => word.get_or_insert_default().extend(bytes.next()),
            (Some(open), _) if byte == open => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(byte),
            (None, b'\'' | b'"') => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (None, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c) => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

/// How deep response files may name each other before that is taken for a circle.
const DEPTH: u32 = 64;

/// The arguments with every readable response file (`@file`) replaced by what is in it. What
/// cannot be read stays, as in the compilers.
pub(crate) fn expand(arguments: &[OsString]) -> Vec<OsString> {
    let mut all = Vec::with_capacity(arguments.len());
    for argument in arguments {
        expand_one(argument, DEPTH, &mut all);
    }
    all
}

fn expand_one(argument: &OsStr, depth: u32, all: &mut Vec<OsString>) {
    let content = match argument.as_bytes() {
        [b'@', path @ ..] if depth > 0 => std::fs::read(OsStr::from_bytes(path)).ok(),
        _ => None,
    };
    match content {
        Some(content) => split(&content).iter().for_each(|inner| expand_one(inner, depth - 1, all)),
        None => all.push(argument.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes() {
        let words = split(b" a\\ b 'c \" d'e \"\" \"f\\\"g\"\n-DX=\\\"y\\\" ");
        assert_eq!(words, ["a b", "c \" de", "", "f\"g", "-DX=\"y\""]);
        assert!(split(b" \n").is_empty());
    }

    #[test]
    fn response_files_nest_and_circles_end() {
        let folder = std::env::temp_dir().join(format!("deadheat-words-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("temporary folder");
        let path = |name: &str| format!("@{}", folder.join(name).display());
        std::fs::write(folder.join("outer"), format!("-c {}", path("inner"))).expect("write");
        std::fs::write(folder.join("inner"), "'x y.c'").expect("write");
        std::fs::write(folder.join("circle"), path("circle")).expect("write");
        let all = expand(&[path("outer").into(), path("none").into(), path("circle").into()]);
        assert_eq!(all, ["-c".into(), "x y.c".into(), OsString::from(path("none")), path("circle").into()]);
        std::fs::remove_dir_all(&folder).expect("remove");
    }
}
