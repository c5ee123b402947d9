//! The console's files: the web pages of `web/`, embedded when this crate is built. The crate knows
//! nothing of HTTP: the engine adds headers and caching.

use sha2::{Digest, Sha256};

/// The name of the page a browser opens first.
pub const INDEX: &str = "index.html";

/// A file of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// The path below `web/`, such as `css/base.css`.
    pub path: &'static str,
    /// What the file holds.
    pub text: &'static str,
}

/// The file at a path below `web/`.
///
/// ```
/// let page = belfry_console::file("index.html").unwrap();
/// assert_eq!(page.content_type(), "text/html; charset=utf-8");
/// assert!(belfry_console::file("../Cargo.toml").is_none());
/// ```
pub fn file(path: &str) -> Option<File> {
    FILES.iter().find(|file| file.path == path).copied()
}

impl File {
    /// The media type, by the name's ending.
    pub fn content_type(&self) -> &'static str {
        match self.path.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "text/javascript; charset=utf-8",
        }
    }

    /// A strong entity tag with its quotes: 128 bits of the text's SHA-256, so that it changes
    /// exactly when the text does.
    pub fn etag(&self) -> String {
        let digest = Sha256::digest(self.text);
        format!("\"{}\"", hex::encode(&digest[..16]))
    }
}

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(File { path: $path, text: include_str!(concat!("../web/", $path)) }),*]
    };
}

/// Every file of `web/`. A test compares the list with the folder.
const FILES: &[File] = files![
    "api.js",
    "charts/bars.js",
    "charts/dots.js",
    "charts/heat.js",
    "charts/scale.js",
    "charts/spark.js",
    "charts/timeline.js",
    "cron/plan.js",
    "css/base.css",
    "css/charts.css",
    "css/editor.css",
    "css/narrow.css",
    "css/parts.css",
    "css/said.css",
    "css/shell.css",
    "css/tables.css",
    "css/theme.css",
    "dom.js",
    "editor/builder.js",
    "editor/diff.js",
    "editor/draft.js",
    "editor/fields.js",
    "editor/payload.js",
    "editor/policies.js",
    "editor/preview.js",
    "editor/save.js",
    "editor/tags.js",
    "editor/timing.js",
    "editor/what.js",
    "editor/zone.js",
    "icon.svg",
    "index.html",
    "live.js",
    "main.js",
    "numbers.js",
    "parts/actions.js",
    "parts/backfill.js",
    "parts/badge.js",
    "parts/bulk.js",
    "parts/changes.js",
    "parts/dialog.js",
    "parts/form.js",
    "parts/history.js",
    "parts/icons.js",
    "parts/ledger.js",
    "parts/polled.js",
    "parts/rows.js",
    "parts/sheet.js",
    "parts/states.js",
    "parts/table.js",
    "parts/theme.js",
    "parts/toast.js",
    "router.js",
    "screens/editor.js",
    "screens/list.js",
    "screens/overview.js",
    "screens/run.js",
    "screens/schedule.js",
    "screens/signin.js",
    "session.js",
    "time.js",
    "words.js",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn names_below(folder: &Path, root: &Path, names: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                names_below(&path, root, names);
            } else {
                let name = path.strip_prefix(root).unwrap();
                names.push(name.to_str().unwrap().replace('\\', "/"));
            }
        }
    }

    #[test]
    fn every_file_of_the_folder_is_listed_and_no_other() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
        let mut names = Vec::new();
        names_below(&root, &root, &mut names);
        names.sort_unstable();
        assert_eq!(names, FILES.iter().map(|file| file.path).collect::<Vec<_>>());
    }

    #[test]
    fn an_etag_has_quotes_and_differs_for_every_file() {
        let tags: std::collections::BTreeSet<_> = FILES.iter().map(File::etag).collect();
        assert_eq!(tags.len(), FILES.len());
        assert!(tags.iter().all(|tag| tag.len() == 34 && tag.starts_with('"')));
    }

    #[test]
    fn a_content_type_follows_the_ending() {
        let of = |path| file(path).unwrap().content_type();
        assert_eq!(of(INDEX), "text/html; charset=utf-8");
        assert_eq!(of("css/base.css"), "text/css; charset=utf-8");
        assert_eq!(of("icon.svg"), "image/svg+xml");
        assert_eq!(of("main.js"), "text/javascript; charset=utf-8");
    }

    /// The names in a table of the vocabulary, such as `RUN` in `words.js`.
    fn words(table: &str) -> Vec<&'static str> {
        let (_, after) =
            file("words.js").unwrap().text.split_once(&format!("const {table} = {{\n")).unwrap();
        let (table, _) = after.split_once("\n};").unwrap();
        let entries = table.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(':'));
        entries.map(|(name, _)| name).filter(|name| !name.starts_with(' ')).collect()
    }

    #[test]
    fn every_status_of_a_run_has_a_look() {
        use belfry_core::run::Status::{self, *};
        let all = [Enqueued, Queued, Started, Success, Failed, Skipped, Abandoned];
        let _complete = |status: Status| match status {
            Enqueued | Queued | Started | Success | Failed | Skipped | Abandoned => (),
        };
        assert_eq!(words("RUN"), all.map(Status::as_str));
    }
}
