//! The `belfry` command as its users see it: a process, its output, its ports.

mod api;
mod cost;
mod crash;
mod declared;
mod dev;
mod disk;
mod foreign;
mod pages;
mod preview;
mod resource;

use std::path::PathBuf;

/// A binary of this workspace, built beside this test.
fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join(name);
    assert!(path.is_file(), "{} is missing: run `make test`, which builds it", path.display());
    path
}
