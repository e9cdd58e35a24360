//! The project's own chores: `cargo xtask CHORE`.

fn main() -> std::process::ExitCode {
    eprintln!("usage: cargo xtask tidy|accept NAME");
    std::process::ExitCode::from(2)
}
