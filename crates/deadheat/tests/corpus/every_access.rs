//! What rustc emits: sizes, unaligned, volatile, copies, atomics with their orders, fences.
//! Compiled and linked against the runtime's object.
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::*;

macro_rules! plain {
    ($($t:ty)*) => {$(
        let mut value: $t = black_box(1 as $t);
        let p = black_box(&raw mut value);
        let mut bytes = [0_u8; 64];
        let odd = black_box(bytes.as_mut_ptr()).wrapping_add(1).cast::<$t>();
        // SAFETY: both pointers are to live local memory, the second used unaligned.
        unsafe {
            *p = *p + 1 as $t;
            ptr::write_volatile(p, ptr::read_volatile(p));
            ptr::write_unaligned(odd, ptr::read_unaligned(odd));
            ptr::copy(p.cast::<u8>(), odd.cast::<u8>(), size_of::<$t>());
        }
        black_box(value);
    )*};
}

macro_rules! atomic {
    ($($t:ident)*) => {$(
        let a = black_box($t::new(1));
        for order in [Ordering::Relaxed, Ordering::Acquire, Ordering::SeqCst] { black_box(a.load(order)); }
        for order in [Ordering::Relaxed, Ordering::Release, Ordering::SeqCst] { a.store(2, order); }
        for order in [Ordering::Relaxed, Ordering::Acquire, Ordering::Release, Ordering::AcqRel, Ordering::SeqCst] {
            black_box(a.swap(3, order));
            black_box((a.fetch_add(1, order), a.fetch_sub(1, order), a.fetch_and(7, order)));
            black_box((a.fetch_or(1, order), a.fetch_xor(1, order), a.fetch_nand(1, order)));
            black_box((a.fetch_max(1, order), a.fetch_min(1, order)));
            black_box(a.compare_exchange(3, 4, order, Ordering::Relaxed).is_ok());
            black_box(a.compare_exchange_weak(3, 4, order, Ordering::Acquire).is_ok());
        }
    )*};
}

fn main() {
    plain!(u8 u16 u32 u64 u128 f32 f64 usize);
    atomic!(AtomicU8 AtomicI8 AtomicU16 AtomicI16 AtomicU32 AtomicI32 AtomicU64 AtomicI64 AtomicUsize);
    fence(Ordering::Acquire);
    fence(Ordering::Release);
    fence(Ordering::AcqRel);
    fence(Ordering::SeqCst);
    compiler_fence(Ordering::SeqCst);
    let size = black_box(100_usize);
    let mut big = vec![1_u8; size];
    big.copy_within(1..50, 40);
    let other = big.clone();
    let shared = std::sync::Arc::new(std::sync::Mutex::new(other));
    let theirs = shared.clone();
    let worker = std::thread::spawn(move || theirs.lock().map(|mut list| list.push(1)).is_ok());
    black_box((worker.join().is_ok(), shared.lock().map(|list| list.len()).unwrap_or(0), big));
}
