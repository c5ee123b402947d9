//! Writes the reference of `docs/api.md` anew, from the code: `make api-docs`.

use std::io::Error;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md");
const BEGIN: &str = "| call | does | takes | answers |\n";

fn main() -> Result<(), Error> {
    let page = std::fs::read_to_string(PAGE)?;
    let (before, table) = page
        .split_once(BEGIN)
        .ok_or_else(|| Error::other("docs/api.md has no table of calls to replace"))?;
    let after: String = table
        .lines()
        .skip_while(|line| line.starts_with('|'))
        .fold(String::new(), |text, line| text + line + "\n");
    let reference = belfry_engine::api::http::openapi::reference_table();
    std::fs::write(PAGE, format!("{before}{reference}{after}"))
}
