//! Atomic operations and fences.

use crate::hot::atomic::{
    Add, And, Nand, Or, Sub, Xor, on_exchange, on_exchange_flag, on_exchange_flag_16, on_exchange_value,
    on_exchange_value_16, on_fence, on_fetch, on_load, on_store,
};

shim!(__tsan_atomic8_load, "rdx", on_load::<u8>);
shim!(__tsan_atomic8_store, "rcx", on_store::<u8>);
shim!(__tsan_atomic8_exchange, "rcx", on_exchange::<u8>);
shim!(__tsan_atomic8_fetch_add, "rcx", on_fetch::<u8, Add>);
shim!(__tsan_atomic8_fetch_sub, "rcx", on_fetch::<u8, Sub>);
shim!(__tsan_atomic8_fetch_and, "rcx", on_fetch::<u8, And>);
shim!(__tsan_atomic8_fetch_or, "rcx", on_fetch::<u8, Or>);
shim!(__tsan_atomic8_fetch_xor, "rcx", on_fetch::<u8, Xor>);
shim!(__tsan_atomic8_fetch_nand, "rcx", on_fetch::<u8, Nand>);
shim!(__tsan_atomic8_compare_exchange_strong, "r9", on_exchange_flag::<u8>);
shim!(__tsan_atomic8_compare_exchange_weak, "r9", on_exchange_flag::<u8>);
shim!(__tsan_atomic8_compare_exchange_val, "r9", on_exchange_value::<u8>);

shim!(__tsan_atomic16_load, "rdx", on_load::<u16>);
shim!(__tsan_atomic16_store, "rcx", on_store::<u16>);
shim!(__tsan_atomic16_exchange, "rcx", on_exchange::<u16>);
shim!(__tsan_atomic16_fetch_add, "rcx", on_fetch::<u16, Add>);
shim!(__tsan_atomic16_fetch_sub, "rcx", on_fetch::<u16, Sub>);
shim!(__tsan_atomic16_fetch_and, "rcx", on_fetch::<u16, And>);
shim!(__tsan_atomic16_fetch_or, "rcx", on_fetch::<u16, Or>);
shim!(__tsan_atomic16_fetch_xor, "rcx", on_fetch::<u16, Xor>);
shim!(__tsan_atomic16_fetch_nand, "rcx", on_fetch::<u16, Nand>);
shim!(__tsan_atomic16_compare_exchange_strong, "r9", on_exchange_flag::<u16>);
shim!(__tsan_atomic16_compare_exchange_weak, "r9", on_exchange_flag::<u16>);
shim!(__tsan_atomic16_compare_exchange_val, "r9", on_exchange_value::<u16>);

shim!(__tsan_atomic32_load, "rdx", on_load::<u32>);
shim!(__tsan_atomic32_store, "rcx", on_store::<u32>);
shim!(__tsan_atomic32_exchange, "rcx", on_exchange::<u32>);
shim!(__tsan_atomic32_fetch_add, "rcx", on_fetch::<u32, Add>);
shim!(__tsan_atomic32_fetch_sub, "rcx", on_fetch::<u32, Sub>);
shim!(__tsan_atomic32_fetch_and, "rcx", on_fetch::<u32, And>);
shim!(__tsan_atomic32_fetch_or, "rcx", on_fetch::<u32, Or>);
shim!(__tsan_atomic32_fetch_xor, "rcx", on_fetch::<u32, Xor>);
shim!(__tsan_atomic32_fetch_nand, "rcx", on_fetch::<u32, Nand>);
shim!(__tsan_atomic32_compare_exchange_strong, "r9", on_exchange_flag::<u32>);
shim!(__tsan_atomic32_compare_exchange_weak, "r9", on_exchange_flag::<u32>);
shim!(__tsan_atomic32_compare_exchange_val, "r9", on_exchange_value::<u32>);

shim!(__tsan_atomic64_load, "rdx", on_load::<u64>);
shim!(__tsan_atomic64_store, "rcx", on_store::<u64>);
shim!(__tsan_atomic64_exchange, "rcx", on_exchange::<u64>);
shim!(__tsan_atomic64_fetch_add, "rcx", on_fetch::<u64, Add>);
shim!(__tsan_atomic64_fetch_sub, "rcx", on_fetch::<u64, Sub>);
shim!(__tsan_atomic64_fetch_and, "rcx", on_fetch::<u64, And>);
shim!(__tsan_atomic64_fetch_or, "rcx", on_fetch::<u64, Or>);
shim!(__tsan_atomic64_fetch_xor, "rcx", on_fetch::<u64, Xor>);
shim!(__tsan_atomic64_fetch_nand, "rcx", on_fetch::<u64, Nand>);
shim!(__tsan_atomic64_compare_exchange_strong, "r9", on_exchange_flag::<u64>);
shim!(__tsan_atomic64_compare_exchange_weak, "r9", on_exchange_flag::<u64>);
shim!(__tsan_atomic64_compare_exchange_val, "r9", on_exchange_value::<u64>);

shim!(__tsan_atomic128_load, "rdx", on_load::<u128>);
shim!(__tsan_atomic128_store, "r8", on_store::<u128>);
shim!(__tsan_atomic128_exchange, "r8", on_exchange::<u128>);
shim!(__tsan_atomic128_fetch_add, "r8", on_fetch::<u128, Add>);
shim!(__tsan_atomic128_fetch_sub, "r8", on_fetch::<u128, Sub>);
shim!(__tsan_atomic128_fetch_and, "r8", on_fetch::<u128, And>);
shim!(__tsan_atomic128_fetch_or, "r8", on_fetch::<u128, Or>);
shim!(__tsan_atomic128_fetch_xor, "r8", on_fetch::<u128, Xor>);
shim!(__tsan_atomic128_fetch_nand, "r8", on_fetch::<u128, Nand>);
shim_through_thread!(__tsan_atomic128_compare_exchange_strong, on_exchange_flag_16);
shim_through_thread!(__tsan_atomic128_compare_exchange_weak, on_exchange_flag_16);
shim_through_thread!(__tsan_atomic128_compare_exchange_val, on_exchange_value_16);

shim!(__tsan_atomic_thread_fence, "rsi", on_fence);
shim!(__tsan_atomic_signal_fence, "rsi", on_signal_fence);

/// A fence between a thread and its own handlers orders nothing between threads.
unsafe extern "C" fn on_signal_fence(_order: u32, _pc: usize) {
    core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
}
