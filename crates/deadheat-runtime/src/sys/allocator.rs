//! The C library's own allocator, whatever stands in for it: what replaces `malloc` has a `__libc_malloc` of its own, too, and is a part
//! of the program that is looked at.
//!
//! Invariant: what was taken here is given back here. Linked dynamically, the functions are those of the C library's own table of
//! symbols, which nothing that allocates looks them up in.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use super::c::{self, Module, ProgramHeader, Size};

macro_rules! functions {
    ($($name:ident $text:literal $linked:expr, ($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {$(
        /// The C library's function, as its manual says.
        ///
        /// # Safety
        /// As of that.
        #[inline(always)]
        pub(crate) unsafe fn $name($($argument: $type),*) $(-> $result)? {
            static ADDRESS: AtomicUsize = AtomicUsize::new(0);
            let mut address = ADDRESS.load(Ordering::Relaxed);
            if address == 0 {
                address = look_up($text).unwrap_or_else(|| $linked);
                ADDRESS.store(address, Ordering::Relaxed);
            }
            // SAFETY: the C library's function of this type; the rest is the caller's promise.
            unsafe {
                core::mem::transmute::<usize, unsafe extern "C" fn($($type),*) $(-> $result)?>(address)($($argument),*)
            }
        }
    )*};
}

// Named weakly: a static library that stands in for the allocator has them, too, and is not to be linked for their sake.
functions! {
    malloc c"__libc_malloc" weak_address!("__libc_malloc"), (size: Size) -> *mut c_void;
    calloc c"__libc_calloc" weak_address!("__libc_calloc"), (count: Size, size: Size) -> *mut c_void;
    realloc c"__libc_realloc" weak_address!("__libc_realloc"), (block: *mut c_void, size: Size) -> *mut c_void;
    memalign c"__libc_memalign" weak_address!("__libc_memalign"), (alignment: Size, size: Size) -> *mut c_void;
    free c"__libc_free" weak_address!("__libc_free"), (block: *mut c_void);
    usable_size c"malloc_usable_size" real!("malloc_usable_size", unsafe extern "C" fn()) as *const () as usize, (block: *mut c_void) -> Size;
}

/// An address within the C library, where that is a library of its own.
pub(crate) fn library() -> u64 {
    weak_address!("gnu_get_libc_version") as u64
}

/// A look for a function.
struct Search {
    name: &'static CStr,
    address: Option<usize>,
}

/// The address of a function in the C library; `None` if that is no library of its own.
#[cold]
#[inline(never)]
fn look_up(name: &'static CStr) -> Option<usize> {
    if weak_address!("__real_malloc") != 0 {
        return None;
    }
    let mut search = Search { name, address: None };
    // SAFETY: the callback takes the search as its data.
    unsafe { c::dl_iterate_phdr(each, (&raw mut search).cast()) };
    search.address
}

/// `dl_iterate_phdr`'s callback.
unsafe extern "C" fn each(module: *mut Module, _: usize, search: *mut c_void) -> c_int {
    const LOAD: u32 = 1;
    const DYNAMIC: u32 = 2;
    // SAFETY: the C library passes a valid description; the data is `look_up`'s.
    unsafe {
        let (module, search) = (&*module, &mut *search.cast::<Search>());
        let headers = core::slice::from_raw_parts(module.headers, module.header_count as usize);
        let holds = |header: &ProgramHeader| {
            let start = module.bias.wrapping_add(header.address);
            header.kind == LOAD && (start..start + header.size).contains(&library())
        };
        if !headers.iter().any(holds) {
            return 0;
        }
        if let Some(dynamic) = headers.iter().find(|header| header.kind == DYNAMIC) {
            search.address = Symbols::of(module.bias, dynamic).and_then(|symbols| symbols.find(search.name));
        }
    }
    1
}

/// `Elf64_Dyn`.
#[repr(C)]
struct Entry {
    tag: u64,
    value: u64,
}

/// `Elf64_Sym`.
#[repr(C)]
struct Symbol {
    name: u32,
    kind: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

/// A module's table of symbols, which is found through hashes of their names.
struct Symbols {
    bias: u64,
    names: *const u8,
    symbols: *const Symbol,
    hashes: *const u32,
}

impl Symbols {
    /// Those of a module that is loaded, if it has all that is needed.
    ///
    /// # Safety
    /// The module is loaded at `bias`, and `dynamic` is the header of its dynamic section.
    unsafe fn of(bias: u64, dynamic: &ProgramHeader) -> Option<Symbols> {
        const NAMES: u64 = 5;
        const SYMBOLS: u64 = 6;
        const HASHES: u64 = 0x6fff_fef5;
        let mut found = [0; 3];
        let mut entry = bias.wrapping_add(dynamic.address) as *const Entry;
        // SAFETY: the module's entries end with one of tag 0.
        unsafe {
            while (*entry).tag != 0 {
                if let Some(at) = [NAMES, SYMBOLS, HASHES].iter().position(|&tag| tag == (*entry).tag) {
                    // The loader puts addresses in their place, but not everywhere.
                    let value = (*entry).value;
                    found[at] = if value < bias { bias + value } else { value };
                }
                entry = entry.add(1);
            }
        }
        let [names, symbols, hashes] = found;
        let all = found.iter().all(|&address| address != 0);
        all.then_some(Symbols {
            bias,
            names: names as *const u8,
            symbols: symbols as *const Symbol,
            hashes: hashes as *const u32,
        })
    }

    /// The address of the symbol of a name.
    ///
    /// # Safety
    /// The module stays loaded meanwhile.
    unsafe fn find(&self, name: &CStr) -> Option<usize> {
        let add = |hash: u32, &byte: &u8| hash.wrapping_mul(33).wrapping_add(u32::from(byte));
        let hash = name.to_bytes().iter().fold(5381, add);
        // SAFETY: as the format has it: four counts, a filter of 64-bit words, the first symbol of each bucket, and the hash of each symbol from
        // the first one on that is found so; the last one of a bucket has its lowest bit set.
        unsafe {
            let [buckets, first, filter] = [0, 1, 2].map(|at| *self.hashes.add(at) as usize);
            let bucket = self.hashes.add(4 + 2 * filter);
            let chain = bucket.add(buckets);
            let mut at = *bucket.add(hash as usize % buckets) as usize;
            while at >= first {
                let (found, symbol) = (*chain.add(at - first), &*self.symbols.add(at));
                let text = CStr::from_ptr(self.names.add(symbol.name as usize).cast());
                if found | 1 == hash | 1 && text == name && symbol.section != 0 {
                    return Some((self.bias + symbol.value) as usize);
                }
                if found & 1 != 0 {
                    return None;
                }
                at += 1;
            }
        }
        None
    }
}
