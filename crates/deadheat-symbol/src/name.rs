//! Names as a person writes them.

use std::borrow::Cow;

/// The longest name that is demangled. Longer ones (deep template instances) are cut as they
/// stand, because demangling may make them longer still.
const LONGEST: usize = 4096;

/// The name of a symbol in the language that it was written in: Rust (both manglings, without
/// the hash) and C++; any other name is returned as it is.
#[must_use]
pub fn demangle(name: &str) -> Cow<'_, str> {
    // Versioned symbols (`memcpy@@GLIBC_2.14`) are named without their version.
    let name = name.split_once('@').map_or(name, |(plain, _)| plain);
    if name.len() > LONGEST {
        return Cow::Owned(name.chars().take(LONGEST).chain("…".chars()).collect());
    }
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return Cow::Owned(format!("{rust:#}"));
    }
    if name.starts_with("_Z")
        && let Ok(symbol) = cpp_demangle::Symbol::new(name)
        && let Ok(text) = symbol.demangle()
    {
        return Cow::Owned(text);
    }
    Cow::Borrowed(name)
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn names_of_each_language() {
        for (mangled, plain) in [
            ("main", "main"),
            ("_ZN5Cache3putEi", "Cache::put(int)"),
            ("_ZL5count", "count"),
            ("_ZZ4mainE4hits", "main::hits"),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("_Znot_a_name", "_Znot_a_name"),
            ("hits.0", "hits.0"),
        ] {
            assert_eq!(demangle(mangled), plain);
        }
    }

    #[test]
    fn a_name_too_long_is_cut() {
        let long = "x".repeat(5000);
        assert_eq!(demangle(&long).chars().count(), 4097);
    }
}
