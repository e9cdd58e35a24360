//! Tells the command line crate's build script where these sources are: it compiles them
//! once more, for the object that is linked into the programs under test.
fn main() {
    println!("cargo::metadata=root={}", std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
}
