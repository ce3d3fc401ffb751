//! The `jouletree` command.

fn main() -> std::process::ExitCode {
    jouletree::main()
}
