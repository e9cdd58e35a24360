//! Options of a program that is started by hand, in ThreadSanitizer's syntax: `name=value`, separated by blanks, commas
//! or colons; a value may be quoted.

mod help;

pub use help::HELP;

/// The environment variables that hold options; what a later one says counts.
pub const VARIABLES: [&str; 2] = ["TSAN_OPTIONS", "DEADHEAT_OPTIONS"];
/// The environment variable that names the command line which tells the races.
pub const TELLER: &str = "DEADHEAT";
/// The command that does so. Its arguments: the trace, the process, three texts of options (the program's own, then those
/// of [`VARIABLES`]), and the program's own suppressions.
pub const COMMAND: &core::ffi::CStr = c"tell-by-hand";
/// The code that it ends with if it had something to say, whatever that makes the program end with; 0 if it had nothing. With
/// any other it, or what loads it, could not do its work.
pub const TOLD: u8 = 66;

/// What the bytes of a runtime object hold in front of the room for the path of the command line.
pub const PATH_MARK: [u8; 40] = *b"deadheat: where the command line lies: \0";
/// The room behind it, with the NUL that ends the path.
pub const PATH_ROOM: usize = 4096;

/// Options that mean something here.
pub const HEEDED: [&str; 24] = [
    "abort_on_error",
    "atexit_sleep_ms",
    "color",
    "die_without_memory",
    "exitcode",
    "force_seq_cst_atomics",
    "format",
    "halt_on_error",
    "help",
    "history_size",
    "ignore_noninstrumented_modules",
    "include",
    "include_if_exists",
    "io_sync",
    "log_exe_name",
    "log_path",
    "log_suffix",
    "memory_limit_mb",
    "report_atomic_races",
    "report_bugs",
    "start_together",
    "strict_memcmp",
    "strip_path_prefix",
    "suppressions",
];

/// Options that may say 0, and the kinds or sorts of findings that are not told then.
pub const FINDINGS: [(&str, &[&str]); 5] = [
    ("detect_deadlocks", &["lock-order"]),
    ("report_destroy_locked", &["destroy-locked"]),
    ("report_mutex_bugs", &["mutex-misuse"]),
    ("report_signal_unsafe", &["signal-unsafe"]),
    ("report_thread_leaks", &["thread-leak"]),
];

/// Options that say yes or no, beside those of [`FINDINGS`].
const YES_OR_NO: [&str; 11] = [
    "abort_on_error",
    "die_without_memory",
    "force_seq_cst_atomics",
    "halt_on_error",
    "help",
    "ignore_noninstrumented_modules",
    "log_exe_name",
    "report_atomic_races",
    "report_bugs",
    "second_deadlock_stack",
    "strict_memcmp",
];

/// Options that ThreadSanitizer knows, and that change nothing here.
const ACCEPTED: &str = " allocator_may_return_null allocator_release_to_os_interval_ms allow_addr2line \
    allow_user_segv_handler can_use_proc_maps_statm check_printf clear_shadow_mmap_threshold \
    compress_stack_depot cov_8bit_counters_out cov_pcs_out coverage coverage_dir decorate_proc_maps \
    dedup_token_length demangle detect_deadlocks detect_invalid_join detect_leaks detect_write_exec die_after_fork \
    disable_coredump dump_instruction_bytes dump_registers enable_adaptive_delay enable_annotations enable_symbolizer_markup \
    external_symbolizer_path fast_unwind_on_check fast_unwind_on_fatal fast_unwind_on_malloc flush_memory_ms \
    flush_symbolizer_ms force_background_thread full_address_space handle_abort handle_ioctl \
    handle_segv handle_sigbus handle_sigfpe handle_sigill handle_sigtrap hard_rss_limit_mb heap_profile \
    html_cov_report ignore_interceptors_accesses \
    intercept_intrin intercept_memcmp intercept_memmem intercept_send intercept_stat \
    intercept_strchr intercept_strcmp intercept_strlen intercept_strndup intercept_strpbrk intercept_strspn \
    intercept_strstr intercept_strtok intercept_tls_get_addr leak_check_at_exit legacy_pthread_cond \
    log_to_syslog malloc_context_size max_allocation_size_mb mmap_limit_mb \
    no_huge_pages_for_shadow print_cmdline print_full_thread_history print_module_map print_summary \
    print_suppressions profile_memory report_destroy_locked report_mutex_bugs \
    report_signal_unsafe report_thread_leaks running_on_valgrind sancov_path second_deadlock_stack \
    shared_ptr_interceptor soft_rss_limit_mb stack_trace_format stop_on_start strict_string_checks \
    strip_env suppress_equal_pcs suppress_equal_stacks symbolize symbolize_inline_frames \
    symbolize_vs_style test_only_emulate_no_memorymap test_only_replace_dlopen_main_program use_madv_dontdump \
    use_sigaltstack verbosity verify_interceptors ";

/// The same of all that begin so.
const ACCEPTED_PREFIX: &[u8] = b"adaptive_delay_";

/// Whether there is an option of this name.
#[must_use]
pub fn is_known(name: &[u8]) -> bool {
    let accepted = || {
        name.starts_with(ACCEPTED_PREFIX) || ACCEPTED.split(' ').any(|accepted| accepted.as_bytes() == name)
    };
    !name.is_empty() && (HEEDED.iter().any(|heeded| heeded.as_bytes() == name) || accepted())
}

/// The options in a text, in order: name and value. A word without `=` has an empty value.
pub fn words(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    entries(text).map(|entry| (entry.name, entry.value))
}

/// The option whose value opens a quote that nothing closes: the rest of the text is its value.
#[must_use]
pub fn unclosed(text: &[u8]) -> Option<&[u8]> {
    entries(text).find(|entry| !entry.closed).map(|entry| entry.name)
}

struct Entry<'a> {
    name: &'a [u8],
    value: &'a [u8],
    closed: bool,
}

fn entries(text: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    let mut rest = text;
    core::iter::from_fn(move || {
        let begin = rest.iter().position(|&byte| !separates(byte))?;
        rest = &rest[begin..];
        let name_end = rest.iter().position(|&byte| byte == b'=' || separates(byte)).unwrap_or(rest.len());
        let (name, tail) = rest.split_at(name_end);
        let Some((b'=', tail)) = tail.split_first() else {
            rest = tail;
            return Some(Entry { name, value: b"", closed: true });
        };
        let (value, tail, closed) = match tail.split_first() {
            Some((quote @ (b'\'' | b'"'), tail)) => until(tail, |byte| byte == *quote),
            Some(_) | None => {
                let (value, tail, _) = until(tail, separates);
                (value, tail, true)
            }
        };
        rest = tail;
        Some(Entry { name, value, closed })
    })
}

/// What is before the first byte that `ends` it, what is behind that byte, and whether there is one.
fn until(text: &[u8], ends: impl Fn(u8) -> bool) -> (&[u8], &[u8], bool) {
    match text.iter().position(|&byte| ends(byte)) {
        Some(at) => (&text[..at], &text[at + 1..], true),
        None => (text, b"", false),
    }
}

fn separates(byte: u8) -> bool {
    matches!(byte, b' ' | b',' | b':' | b'\n' | b'\t' | b'\r')
}

/// The value that the texts give an option: the last one counts.
#[must_use]
pub fn value<'a>(texts: &[&'a [u8]], name: &str) -> Option<&'a [u8]> {
    let all = texts.iter().flat_map(|text| words(text));
    all.filter(|(found, _)| *found == name.as_bytes()).last().map(|(_, value)| value)
}

/// A value that says yes or no.
#[must_use]
pub fn yes(value: &[u8]) -> Option<bool> {
    match value {
        b"1" | b"yes" | b"true" => Some(true),
        b"0" | b"no" | b"false" => Some(false),
        _ => None,
    }
}

/// What is wrong with an option, in words that its name ends; `None` if nothing is.
#[must_use]
pub fn fault(name: &[u8], value: &[u8]) -> Option<&'static str> {
    match name {
        _ if !is_known(name) => Some("there is no option"),
        b"exitcode" if code(value).is_none() => Some("not a number from 0 to 255 for"),
        b"history_size" if history_size(value).is_none() => Some("not a number from 0 to 7 for"),
        b"memory_limit_mb" if megabytes(value).is_none() => Some("not a number of megabytes for"),
        b"io_sync" if descriptors(value).is_none() => Some("neither 0, 1 nor 2 for"),
        b"atexit_sleep_ms" | b"start_together" if milliseconds(value).is_none() => {
            Some("not a number of milliseconds for")
        }
        b"color" if !matches!(value, b"auto" | b"always" | b"never") => {
            Some("neither auto, always nor never for")
        }
        _ if says_yes_or_no(name) && yes(value).is_none() => Some("neither 0 nor 1 for"),
        _ => None,
    }
}

fn says_yes_or_no(name: &[u8]) -> bool {
    let all = YES_OR_NO.iter().chain(FINDINGS.iter().map(|(name, _)| name));
    all.map(|known| known.as_bytes()).any(|known| known == name)
}

/// What the options say of the memory of whoever looks for races.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// log2 of how many changes to what is remembered are remembered of each thread with their stacks.
    pub history_log2: u32,
    /// How many bytes the process is to have in memory at the most; 0: as many as it likes.
    pub limit: usize,
    /// Whether the process ends if there is no memory.
    pub dies: bool,
}

impl Memory {
    /// Without any option.
    pub const USUAL: Memory = Memory { history_log2: 14, limit: 0, dies: true };
}

/// What the texts say of memory; what cannot be meant counts as not said.
#[must_use]
pub fn memory(texts: &[&[u8]]) -> Memory {
    let usual = Memory::USUAL;
    let twofold = value(texts, "history_size").and_then(history_size).unwrap_or(0);
    let limit = value(texts, "memory_limit_mb").and_then(megabytes);
    let dies = value(texts, "die_without_memory").and_then(yes);
    Memory {
        history_log2: usual.history_log2 + twofold,
        limit: limit.unwrap_or(usual.limit),
        dies: dies.unwrap_or(usual.dies),
    }
}

/// For how many nanoseconds at the most a new thread waits for others that are created behind it.
#[must_use]
pub fn start_together(texts: &[&[u8]]) -> u64 {
    const USUAL: u64 = 1_000_000;
    value(texts, "start_together").and_then(milliseconds).unwrap_or(USUAL)
}

/// For how many nanoseconds at the most a process that ends waits for the end of its other threads.
#[must_use]
pub fn wait_at_exit(texts: &[&[u8]]) -> u64 {
    value(texts, "atexit_sleep_ms").and_then(milliseconds).unwrap_or(0)
}

/// Whether a comparison of blocks reads all of both, also behind their first difference.
#[must_use]
pub fn compares_all(texts: &[&[u8]]) -> bool {
    value(texts, "strict_memcmp").and_then(yes).unwrap_or(true)
}

/// Whether all atomic operations count as sequentially consistent, whatever they ask for.
#[must_use]
pub fn forces_seq_cst(texts: &[&[u8]]) -> bool {
    value(texts, "force_seq_cst_atomics").and_then(yes).unwrap_or(false)
}

/// What goes through descriptors orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Descriptors {
    /// Nothing.
    Nothing,
    /// Who takes something out behind who put something into the same.
    Each,
    /// Who takes anything out of any behind who put anything into any.
    All,
}

/// What the texts say of descriptors.
#[must_use]
pub fn io_sync(texts: &[&[u8]]) -> Descriptors {
    value(texts, "io_sync").and_then(descriptors).unwrap_or(Descriptors::Each)
}

fn descriptors(value: &[u8]) -> Option<Descriptors> {
    match value {
        b"0" => Some(Descriptors::Nothing),
        b"1" => Some(Descriptors::Each),
        b"2" => Some(Descriptors::All),
        _ => None,
    }
}

/// Options that name a file with more options, and whether it must be there.
const INCLUDES: [(&[u8], bool); 2] = [(b"include", true), (b"include_if_exists", false)];
/// A file that is named in a file, and so on, so often.
const DEEPEST: u32 = 8;

/// Whether a text names files with more options.
#[must_use]
pub fn includes(text: &[u8]) -> bool {
    words(text).any(|(name, _)| INCLUDES.iter().any(|(include, _)| *include == name))
}

/// The options of a text, piece by piece, and in place of a file that it names those that are in there. `read` is given the name, and whether the file must be
/// there; it gives what the file says.
pub fn flatten<'a>(
    text: &'a [u8],
    read: &mut dyn FnMut(&'a [u8], bool) -> Option<&'a [u8]>,
    put: &mut dyn FnMut(&[u8]),
) {
    flatten_to(DEEPEST, text, read, put);
}

fn flatten_to<'a>(
    deepest: u32,
    text: &'a [u8],
    read: &mut dyn FnMut(&'a [u8], bool) -> Option<&'a [u8]>,
    put: &mut dyn FnMut(&[u8]),
) {
    for (name, value) in words(text) {
        if let Some((_, must)) = INCLUDES.iter().find(|(include, _)| *include == name) {
            if deepest > 0
                && let Some(more) = read(value, *must)
            {
                flatten_to(deepest - 1, more, read, put);
            }
            continue;
        }
        // A value has one sort of quote at the most, unless nothing separates what is in it.
        let quote: &[u8] = match value {
            [b'"', ..] => b"'",
            [b'\'', ..] => b"\"",
            _ if !value.iter().any(|&byte| separates(byte)) => b"",
            _ if value.contains(&b'"') => b"'",
            _ => b"\"",
        };
        [name, b"=", quote, value, quote, b":"].into_iter().for_each(&mut *put);
    }
}

/// So many milliseconds in nanoseconds.
fn milliseconds(value: &[u8]) -> Option<u64> {
    core::str::from_utf8(value).ok()?.parse::<u32>().ok().map(|count| u64::from(count) * 1_000_000)
}

/// How often a history's size is doubled.
fn history_size(value: &[u8]) -> Option<u32> {
    const MOST: u32 = 7;
    core::str::from_utf8(value).ok()?.parse().ok().filter(|&size| size <= MOST)
}

/// So many megabytes in bytes.
fn megabytes(value: &[u8]) -> Option<usize> {
    core::str::from_utf8(value).ok()?.parse::<usize>().ok()?.checked_mul(1 << 20)
}

/// A value that is an exit code.
#[must_use]
pub fn code(value: &[u8]) -> Option<u8> {
    core::str::from_utf8(value).ok()?.parse().ok()
}

/// The exit code of a process that has races.
#[must_use]
pub fn exit_code(texts: &[&[u8]]) -> u8 {
    const RACES: u8 = 66;
    value(texts, "exitcode").and_then(code).unwrap_or(RACES)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let expected = expected.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        assert!(words(text.as_bytes()).eq(expected), "{text}");
    }

    #[test]
    fn words_are_separated_as_in_tsan() {
        check("a=1 b=2,c=3:d=4\n\te=5", &[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e", "5")]);
        check(" ,: ", &[]);
        check("a='x y:z' b=\"it's\" c=", &[("a", "x y:z"), ("b", "it's"), ("c", "")]);
        check("a='open b=1", &[("a", "open b=1")]);
        check("alone b=1 =2", &[("alone", ""), ("b", "1"), ("", "2")]);
    }

    #[test]
    fn the_last_value_counts() {
        let texts = [&b"exitcode=1 exitcode=2"[..], b"", b"exitcode=3,format=tsan"];
        assert_eq!(exit_code(&texts), 3);
        assert_eq!(exit_code(&texts[..1]), 2);
        assert_eq!(exit_code(&[b"exitcode=many"]), 66);
        assert_eq!(value(&texts, "format"), Some(&b"tsan"[..]));
        assert_eq!(value(&texts, "log_path"), None);
        assert_eq!((yes(b"yes"), yes(b"0"), yes(b"2")), (Some(true), Some(false), None));
    }

    #[test]
    fn memory_is_as_the_options_say() {
        assert_eq!(memory(&[b"", b"verbosity=1"]), Memory::USUAL);
        let said =
            memory(&[b"history_size=7", b"memory_limit_mb=100", b"history_size=3 die_without_memory=0"]);
        assert_eq!(said, Memory { history_log2: 17, limit: 100 << 20, dies: false });
        assert_eq!(memory(&[b"history_size=8 memory_limit_mb=-1 die_without_memory=x"]), Memory::USUAL);
    }

    #[test]
    fn what_cannot_be_meant_is_named() {
        for (name, good, bad, words) in [
            ("exitcode", "0", "256", "not a number from 0 to 255 for"),
            ("history_size", "7", "8", "not a number from 0 to 7 for"),
            ("memory_limit_mb", "0", "1g", "not a number of megabytes for"),
            ("start_together", "0", "1s", "not a number of milliseconds for"),
            ("atexit_sleep_ms", "1000", "-1", "not a number of milliseconds for"),
            ("die_without_memory", "0", "2", "neither 0 nor 1 for"),
            ("halt_on_error", "yes", "", "neither 0 nor 1 for"),
            ("report_atomic_races", "0", "no way", "neither 0 nor 1 for"),
            ("detect_deadlocks", "true", "on", "neither 0 nor 1 for"),
            ("second_deadlock_stack", "1", "2", "neither 0 nor 1 for"),
            ("strict_memcmp", "0", "off", "neither 0 nor 1 for"),
            ("color", "always", "1", "neither auto, always nor never for"),
            ("io_sync", "2", "3", "neither 0, 1 nor 2 for"),
            ("force_seq_cst_atomics", "1", "all", "neither 0 nor 1 for"),
        ] {
            assert_eq!(fault(name.as_bytes(), good.as_bytes()), None, "{name}");
            assert_eq!(fault(name.as_bytes(), bad.as_bytes()), Some(words), "{name}");
        }
        assert_eq!(fault(b"histroy_size", b"1"), Some("there is no option"));
    }

    #[test]
    fn the_help_tells_what_is_heeded() {
        let handled = ["abort", "segv", "sigbus", "sigfpe", "sigill", "sigtrap"]
            .map(|signal| std::format!("handle_{signal}"));
        let findings = FINDINGS.iter().map(|(name, _)| *name).chain(["second_deadlock_stack"]);
        let mut heeded: Vec<&str> =
            HEEDED.into_iter().chain(findings).chain(handled.iter().map(|name| &**name)).collect();
        heeded.sort_unstable();
        assert!(HELP.iter().map(|(name, ..)| *name).eq(heeded));
        for (name, usual, _) in HELP.iter().filter(|(_, usual, _)| !usual.is_empty()) {
            assert_eq!(fault(name.as_bytes(), usual.as_bytes()), None, "{name}");
        }
    }

    #[track_caller]
    fn check_flat(text: &str, files: &[(&str, &str)], expected: &[(&str, &str)]) {
        let mut read = |name: &[u8], _| {
            files.iter().find(|(file, _)| file.as_bytes() == name).map(|(_, text)| text.as_bytes())
        };
        let mut flat = Vec::new();
        flatten(text.as_bytes(), &mut read, &mut |piece| flat.extend_from_slice(piece));
        check(str::from_utf8(&flat).expect("text"), expected);
    }

    #[test]
    fn a_file_of_options_stands_in_the_place_of_its_name() {
        let files = [("f", "b=2 c='x y'\nd=\"it's\""), ("deep", "include=f:e=5"), ("open", "a='1 b=2")];
        let inside = [("a", "1"), ("b", "2"), ("c", "x y"), ("d", "it's"), ("b", "3")];
        check_flat("a=1 include=f b=3", &files, &inside);
        check_flat("a=1:include_if_exists=f b=3", &files, &inside);
        check_flat("include=deep", &files, &[("b", "2"), ("c", "x y"), ("d", "it's"), ("e", "5")]);
        check_flat("include=none a=it's", &files, &[("a", "it's")]);
        check_flat("include=open c=3", &files, &[("a", "1 b=2"), ("c", "3")]);
        check_flat("alone a=''", &files, &[("alone", ""), ("a", "")]);
        assert!(
            includes(b"a=1 include=f") && includes(b"include_if_exists=f") && !includes(b"a='include=f'")
        );
    }

    #[test]
    fn a_file_that_names_itself_comes_to_an_end() {
        check_flat("include=f", &[("f", "a=1 include=f")], &[("a", "1"); DEEPEST as usize]);
    }

    #[test]
    fn a_quote_that_nothing_closes_is_found() {
        for text in ["", "exitcode=5", "log_path='a b' exitcode=\"5\"", "log_path=it's", "log_path=''"] {
            assert_eq!(unclosed(text.as_bytes()), None, "{text}");
        }
        for text in ["log_path='a exitcode=5", "exitcode=5:log_path=\"", "log_path='a\" x"] {
            assert_eq!(unclosed(text.as_bytes()), Some(&b"log_path"[..]), "{text}");
        }
    }

    #[test]
    fn names_are_known_whole() {
        for name in ["exitcode", "format", "abort_on_error", "verify_interceptors", "help"] {
            assert!(is_known(name.as_bytes()), "{name}");
        }
        for name in ["", " ", "exit", "help history_size", "helps"] {
            assert!(!is_known(name.as_bytes()), "{name}");
        }
    }
}
