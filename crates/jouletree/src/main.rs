//! The command line of jouletree.

fn main() {}
