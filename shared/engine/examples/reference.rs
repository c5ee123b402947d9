//! Writes the tables of `docs/api.md` that are made from the code anew: `make api-docs`.

use std::io::Error;

use belfry_engine::api::http::openapi::{field_table, reference_table};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md");

fn main() -> Result<(), Error> {
    let mut page = std::fs::read_to_string(PAGE)?;
    for table in [reference_table(), field_table()] {
        page = replaced(&page, &table)?;
    }
    std::fs::write(PAGE, page)
}

/// The page with the table that begins as this one does replaced by this one.
fn replaced(page: &str, table: &str) -> Result<String, Error> {
    let begin = table.split_inclusive('\n').next().unwrap_or_default();
    let (before, old) = page.split_once(begin).ok_or_else(|| {
        Error::other(format!("docs/api.md has no table to replace that begins with {begin}"))
    })?;
    let after: String =
        old.split_inclusive('\n').skip_while(|line| line.starts_with('|')).collect();
    Ok(format!("{before}{table}{after}"))
}
