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
    let name = without_module(name);
    if name.len() > LONGEST {
        return Cow::Owned(name.chars().take(LONGEST).chain("…".chars()).collect());
    }
    if let Ok(rust) = rustc_demangle::try_demangle(without_number(name)) {
        return Cow::Owned(of_thread_local(format!("{rust:#}")));
    }
    if name.starts_with("_Z")
        && let Some(text) = cxx(name).or_else(|| before_types(name))
    {
        return Cow::Owned(text);
    }
    Cow::Borrowed(name)
}

/// A variable of a thread as the source names it: `thread_local!` has it in a function of a constant of that name.
fn of_thread_local(name: String) -> String {
    let own = name.strip_suffix("::__RUST_STD_INTERNAL_VAL").and_then(|path| path.split_once("::{"));
    own.map_or_else(|| name.clone(), |(own, _)| own.to_owned())
}

/// A name without what LLVM puts behind one that it makes known to other modules: `.llvm.` and a number.
fn without_module(name: &str) -> &str {
    match name.split_once(".llvm.") {
        Some((plain, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => plain,
        _ => name,
    }
}

/// A name without the number that LLVM puts behind one that it makes anew.
fn without_number(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((plain, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => plain,
        _ => name,
    }
}

fn cxx(name: &str) -> Option<String> {
    cpp_demangle::Symbol::new(name).ok()?.demangle().ok()
}

/// The longest name of which parts are tried.
const LONGEST_TRIED: usize = 1024;

/// A function's name without the types of its result and parameters, where those are mangled as only gcc does it
/// (`srSt6__and_I…`): the longest beginning of the name that is one.
fn before_types(name: &str) -> Option<String> {
    let ends = (4..name.len().min(LONGEST_TRIED)).rev().filter(|end| name.as_bytes()[end - 1] == b'E');
    let text = ends.filter_map(|end| cxx(&format!("{}vv", name.get(..end)?))).next()?;
    text.strip_suffix("()")?.strip_prefix("void ").map(str::to_owned)
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
            ("_RNvCs1234_7mycrate5COUNT.0", "mycrate::COUNT"),
            ("_RNvCs1234_7mycrate5COUNT.llvm.11876761259341658611", "mycrate::COUNT"),
            ("_RNvCs1234_7mycrate5COUNT.1.llvm.11876761259341658611", "mycrate::COUNT"),
            ("hits.llvm.118767", "hits"),
            (
                "_ZN3app4MINE29_$u7b$$u7b$constant$u7d$$u7d$28_$u7b$$u7b$closure$u7d$$u7d$23__RUST_STD_INTERNAL_VAL17h0123456789abcdefE",
                "app::MINE",
            ),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("_Znot_a_name", "_Znot_a_name"),
            (
                "_ZSt4swapIPiENSt9enable_ifIXsrSt6__and_IJSt6__not_ISt15__is_tuple_likeIT_EESt21is_move_constructible\
                 IS5_ESt18is_move_assignableIS5_EEE5valueEvE4typeERS5_SF_",
                "std::swap<int*>",
            ),
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
