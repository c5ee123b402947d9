//! The rooms of the code: modules import in one direction, and no files import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Rooms from the bottom up. A room may import from the rows below its own, and from itself; rooms in
/// one row do not know each other.
const ENGINE: &[&[&str]] = &[
    &["fault", "log", "metrics", "settings"],
    &["cloud"],
    &["app"],
    &["fires"],
    &["schedules"],
    &["ending"],
    &["tick", "launcher", "recovery", "api", "resource"],
    &["functions"],
];

/// The same of core. The first row is one room: the words that all others use.
const CORE: &[&[&str]] = &[
    &["id", "instant", "invalid", "form", "encoding", "page", "words"],
    &["workflow"],
    &["guard", "schedule"],
    &["run"],
    &["fire"],
    &["tick", "recovery", "ledger"],
    &["declare", "vocabulary"],
];

#[test]
fn engine_rooms_import_in_one_direction() {
    check("engine", ENGINE);
}

#[test]
fn core_rooms_import_in_one_direction() {
    check("core", CORE);
}

#[track_caller]
fn check(name: &str, rows: &[&[&str]]) {
    let sources = Sources::of(name);
    let wrong: Vec<_> = sources
        .imports()
        .into_iter()
        .filter(|(from, to)| !may_import(rows, room(from), room(to)))
        .map(|(from, to)| format!("{from} imports {to}"))
        .collect();
    assert!(wrong.is_empty(), "against the direction of the rooms: {wrong:#?}");
    if let Some(circle) = sources.circle() {
        panic!("files that import each other: {circle:#?}");
    }
}

/// The room of a file: its first folder, or its own name.
fn room(file: &str) -> &str {
    file.split('/').next().unwrap().trim_end_matches(".rs")
}

fn may_import(rows: &[&[&str]], from: &str, to: &str) -> bool {
    let row = |room: &str| rows.iter().position(|row| row.contains(&room));
    let Some(above) = row(from) else { panic!("the room {from} has no place in the list") };
    let Some(below) = row(to) else { panic!("the room {to} has no place in the list") };
    from == to || below < above || (above == 0 && below == 0)
}

/// The files of a crate, by their paths below `src`, without their tests.
struct Sources(BTreeMap<String, String>);

impl Sources {
    fn of(name: &str) -> Sources {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
        let src = top.join("shared").join(name).join("src");
        let (mut files, mut folders) = (BTreeMap::new(), vec![src.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let below = path.strip_prefix(&src).unwrap().to_str().unwrap().to_owned();
                if path.is_dir() {
                    folders.push(path);
                } else if below.ends_with(".rs")
                    && !below.ends_with("tests.rs")
                    && below != "lib.rs"
                {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let code = text.split("\n#[cfg(test)]").next().unwrap();
                    let code: Vec<_> =
                        code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
                    files.insert(below, code.join("\n"));
                }
            }
        }
        assert!(files.len() > 20, "{name}: the sources are not found any more");
        Sources(files)
    }

    /// Every import of one file from another.
    fn imports(&self) -> BTreeSet<(String, String)> {
        let mut found = BTreeSet::new();
        for (file, code) in &self.0 {
            for path in paths(code, &modules(file)) {
                if let Some(other) = self.file_of(&path).filter(|other| other != file) {
                    found.insert((file.clone(), other));
                }
            }
        }
        assert!(found.len() > 50, "the imports are not understood any more");
        found
    }

    /// The file that a path of names leads to. A name that a `mod.rs` hands on from a file below it
    /// leads to that file.
    fn file_of(&self, path: &[String]) -> Option<String> {
        for length in (1..=path.len()).rev() {
            let module = path[..length].join("/");
            let (file, folder) = (format!("{module}.rs"), format!("{module}/mod.rs"));
            if self.0.contains_key(&file) {
                return Some(file);
            }
            if let Some(code) = self.0.get(&folder) {
                let handed_on = path.get(length).and_then(|name| {
                    let own = &path[..length].to_vec();
                    re_exports(code, own).into_iter().find(|found| found.last() == Some(name))
                });
                return match handed_on.as_deref() {
                    Some(handed_on) if handed_on != path => self.file_of(handed_on),
                    _ => Some(folder),
                };
            }
        }
        None
    }

    /// Files that import each other in a circle, if there are any. A `mod.rs` and the files below it
    /// are one thing: they may know each other.
    fn circle(&self) -> Option<Vec<String>> {
        let is_below = |one: &str, other: &str| {
            other.strip_suffix("mod.rs").is_some_and(|folder| one.starts_with(folder))
        };
        let mut graph: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (from, to) in self.imports() {
            if !is_below(&from, &to) && !is_below(&to, &from) {
                graph.entry(from).or_default().push(to);
            }
        }
        let mut done = BTreeSet::new();
        graph.keys().find_map(|file| circle_from(file, &graph, &mut Vec::new(), &mut done))
    }
}

fn circle_from(
    file: &str,
    graph: &BTreeMap<String, Vec<String>>,
    on_the_way: &mut Vec<String>,
    done: &mut BTreeSet<String>,
) -> Option<Vec<String>> {
    if let Some(place) = on_the_way.iter().position(|seen| seen == file) {
        return Some(on_the_way[place..].to_vec());
    }
    if !done.insert(file.to_owned()) {
        return None;
    }
    on_the_way.push(file.to_owned());
    let found = graph.get(file).into_iter().flatten();
    let found = found.clone().find_map(|next| circle_from(next, graph, on_the_way, done));
    on_the_way.pop();
    found
}

/// The modules that a file is: `cloud/store/mod.rs` is `cloud`, `store`.
fn modules(file: &str) -> Vec<String> {
    let file = file.trim_end_matches(".rs").trim_end_matches("/mod");
    file.split('/').map(str::to_owned).collect()
}

/// What a `mod.rs` hands on, as whole paths.
fn re_exports(code: &str, own: &[String]) -> Vec<Vec<String>> {
    let uses = code.lines().filter(|line| line.starts_with("pub") && line.contains(" use "));
    let uses = uses.filter_map(|line| line.split_once(" use ")).map(|(_, path)| path);
    let below = |path: &str| format!("self::{}", path.trim_start_matches("self::"));
    uses.flat_map(|path| paths(&below(path), own)).collect()
}

/// Every path in `code` that begins with `crate`, `super` or `self`, as names from the crate's top.
fn paths(code: &str, own: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    for (place, _) in code.match_indices("::") {
        let before = &code[..place];
        let start = before.rfind(|c| !is_name(c)).map_or(0, |at| at + 1);
        let is_first = !before[..start].ends_with("::");
        let base = match &before[start..] {
            "crate" if is_first => Vec::new(),
            "super" if is_first => own[..own.len() - 1].to_vec(),
            "self" if is_first => own.to_vec(),
            _ => continue,
        };
        spell(&code[place + 2..], base, &mut found);
    }
    found
}

/// Follows a path, into its braces where it has some.
fn spell(rest: &str, mut path: Vec<String>, found: &mut Vec<Vec<String>>) {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    if let Some(group) = rest.strip_prefix('{') {
        let (mut depth, mut item) = (0, String::new());
        for c in group.chars() {
            match c {
                '}' if depth == 0 => break,
                ',' if depth == 0 => spell(std::mem::take(&mut item).trim(), path.clone(), found),
                _ => {
                    depth += i32::from(c == '{') - i32::from(c == '}');
                    item.push(c);
                }
            }
        }
        return spell(item.trim(), path, found);
    }
    let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
    match &rest[..end] {
        "" | "self" => {}
        "super" => drop(path.pop()),
        name => path.push(name.to_owned()),
    }
    match rest[end..].strip_prefix("::") {
        Some(rest) => spell(rest, path, found),
        None => found.push(path),
    }
}

/// The most lines of a function, from its `fn` to its closing brace.
const MAX_LINES: usize = 60;

#[test]
fn no_function_of_the_system_is_longer_than_60_lines() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
    let (mut folders, mut functions, mut long) = (vec![], 0, Vec::new());
    for folder in ["shared/cron", "shared/core", "shared/cost", "shared/time", "shared/engine"] {
        folders.push(top.join(folder).join("src"));
    }
    folders.extend(["functions", "infra/local/src", "infra/sqs/src"].map(|name| top.join(name)));
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                for (name, lines) in lengths(&text) {
                    functions += 1;
                    if lines > MAX_LINES {
                        long.push(format!("{}: {name}, {lines} lines", path.display()));
                    }
                }
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
    assert!(functions > 1000, "{functions}: the sources are not understood any more");
}

/// Every function of a formatted source, with its lines: it ends at the brace below its `fn`.
fn lengths(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<_> = text.lines().collect();
    let length = |(start, line): (usize, &&str)| {
        let code = line.trim_start();
        let words = code.split("fn ").next()?;
        let is_function = words.split_whitespace().all(|word| {
            word.starts_with("pub") || ["async", "const", "in", "crate::api::http)"].contains(&word)
        });
        let name = code.strip_prefix(words)?.strip_prefix("fn ").filter(|_| is_function)?;
        let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        let end = format!("{}}}", &line[..line.len() - code.len()]);
        let is_one_line = code.ends_with('}');
        let below =
            if is_one_line { 0 } else { lines[start..].iter().position(|line| *line == end)? };
        Some((name.to_owned(), below + 1))
    };
    lines.iter().enumerate().filter_map(length).collect()
}

#[test]
fn functions_are_measured() {
    let text = "fn z() {}\n\nfn a() {\n    1\n}\n\nimpl X {\n    pub(crate) async fn b(\n        c: u8,\n    ) {\n    }\n}\n";
    assert_eq!(
        lengths(text),
        [("z", 1), ("a", 3), ("b", 4)].map(|(name, lines)| (name.to_owned(), lines))
    );
}

#[test]
fn imports_are_understood() {
    let code = "use crate::a::{b, c::{D, self}};\nfn f() { super::g::h() }\npub use self::i::J;";
    let found: Vec<_> =
        paths(code, &["m".to_owned(), "n".to_owned()]).iter().map(|path| path.join(" ")).collect();
    assert_eq!(found, ["a b", "a c D", "a c", "m g h", "m n i J"]);
    assert!(may_import(ENGINE, "launcher", "ending") && may_import(ENGINE, "cloud", "cloud"));
    assert!(!may_import(ENGINE, "cloud", "fires") && !may_import(ENGINE, "tick", "launcher"));
    assert!(may_import(CORE, "form", "instant") && !may_import(CORE, "schedule", "guard"));
}
