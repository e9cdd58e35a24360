//! Says what lies at addresses of a file, as `addr2line` does, and what memory that took:
//! `cargo run --release -p deadheat-symbol --example where -- FILE ADDRESS…` (hexadecimal).

use std::path::Path;
use std::time::Instant;

use deadheat_symbol::Symbolizer;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let Some((file, addresses)) = arguments.get(1..).and_then(<[String]>::split_first) else {
        eprintln!("usage: where FILE ADDRESS…");
        return;
    };
    let start = Instant::now();
    let mut symbolizer = Symbolizer::default();
    let module = symbolizer.module(Path::new(file), &[]);
    for address in addresses {
        let Ok(address) = u64::from_str_radix(address.trim_start_matches("0x"), 16) else { continue };
        let code = symbolizer.code(module, address);
        println!("{address:#x} {:?}", code.symbol);
        for frame in &code.frames {
            println!("    {frame:?}");
        }
        if let Some(variable) = symbolizer.data(module, address, 1) {
            println!("    {variable:?}");
        }
    }
    for warning in symbolizer.take_warnings() {
        println!("{warning}");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = status.lines().filter(|line| line.starts_with("VmHWM") || line.starts_with("RssAnon"));
    println!("{:?} {:?}", start.elapsed(), memory.collect::<Vec<_>>());
}
