//! Reads files of schedules into the form the API takes, and reports every problem with its line.
//!
//! A document names its set and has `defaults`, `workflows` and `schedules`; the last two are
//! lists, or maps by name. All documents of one set form one declaration, even across several
//! files.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use belfry_core::declare::set::declaration::Declaration;
use belfry_core::id::SetName;
use belfry_core::invalid::Invalid;
use belfry_core::schedule::house::House;
use belfry_local::yaml::{self, Key, Kind, Node, Place};
use belfry_time::{SystemTime, Time};
use clap::Args;
use serde_json::{Value, json};

/// The API takes no larger request body, so a larger file cannot be applied.
const MAX_FILE: u64 = 6 * 1024 * 1024;
/// The fields of a document. Editors find the JSON Schema by `$schema`.
const FIELDS: [&str; 5] = ["set", "defaults", "workflows", "schedules", "$schema"];

/// The files named on the command line.
#[derive(Args, Clone)]
pub(crate) struct Files {
    /// File of schedules (YAML or JSON), folder of such files, or - for standard input; may be
    /// repeated
    #[arg(short = 'f', long = "file", value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// One declared set.
pub(crate) struct Set {
    pub(crate) name: SetName,
    workflows: Vec<Piece>,
    schedules: Vec<Piece>,
}

/// A part of a declaration, and the file that contains it.
struct Piece {
    file: String,
    node: Node,
}

/// A problem and its position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    file: String,
    line: usize,
    column: usize,
    pub(crate) message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            line => write!(f, "{}:{line}:{}: {}", self.file, self.column, self.message),
        }
    }
}

impl Problem {
    fn at(file: &str, place: Place, message: impl Into<String>) -> Problem {
        let (file, Place { line, column }) = (file.to_owned(), place);
        Problem { file, line, column, message: message.into() }
    }

    fn of_file(file: &Path, message: String) -> Problem {
        Problem { file: file.display().to_string(), line: 0, column: 0, message }
    }

    pub(crate) fn view(&self) -> Value {
        let (file, message) = (&self.file, &self.message);
        json!({"file": file, "line": self.line, "column": self.column, "message": message})
    }
}

impl Files {
    /// Whether `-` (standard input) is among the files.
    pub(crate) fn takes_input(&self) -> bool {
        self.files.iter().any(|file| file == Path::new("-"))
    }

    /// Every set of the files, checked as far as possible without a deployment.
    pub(crate) fn read(&self) -> Result<Vec<Set>, Vec<Problem>> {
        let (mut sets, mut problems) = (Vec::new(), Vec::new());
        for file in &self.files {
            match texts(file) {
                Ok(texts) => {
                    for (name, text) in texts {
                        add(&mut sets, &mut problems, &name, &text);
                    }
                }
                Err(problem) => problems.push(problem),
            }
        }
        problems.extend(sets.iter().flat_map(Set::problems));
        problems.sort();
        match problems.is_empty() {
            true => Ok(sets),
            false => Err(problems),
        }
    }
}

/// The text of a file, or the texts of a folder's files in the order of their names.
fn texts(file: &Path) -> Result<Vec<(String, String)>, Problem> {
    let unread = |file: &Path, problem: io::Error| Problem::of_file(file, problem.to_string());
    if file == Path::new("-") {
        let mut text = String::new();
        let read = io::stdin().take(MAX_FILE + 1).read_to_string(&mut text);
        read.map_err(|problem| unread(file, problem))?;
        return small(file, text).map(|text| vec![("<stdin>".to_owned(), text)]);
    }
    if !file.is_dir() {
        let size = std::fs::metadata(file).map_err(|problem| unread(file, problem))?.len();
        if size > MAX_FILE {
            return Err(too_large(file));
        }
        let text = std::fs::read_to_string(file).map_err(|problem| unread(file, problem))?;
        return Ok(vec![(file.display().to_string(), text)]);
    }
    let entries = std::fs::read_dir(file).map_err(|problem| unread(file, problem))?;
    let paths: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(|problem| unread(file, problem))?;
    let is_ours = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        path.is_file() && matches!(ending, Some("yaml" | "yml" | "json"))
    };
    paths.retain(is_ours);
    paths.sort();
    if paths.is_empty() {
        return Err(Problem::of_file(file, "contains no .yaml, .yml or .json file".to_owned()));
    }
    let mut all = Vec::new();
    for path in paths {
        all.extend(texts(&path)?);
    }
    Ok(all)
}

fn small(file: &Path, text: String) -> Result<String, Problem> {
    if text.len() as u64 > MAX_FILE { Err(too_large(file)) } else { Ok(text) }
}

fn too_large(file: &Path) -> Problem {
    Problem::of_file(file, format!("is larger than {MAX_FILE} bytes"))
}

/// Adds the documents of a file to the sets they name.
fn add(sets: &mut Vec<Set>, problems: &mut Vec<Problem>, file: &str, text: &str) {
    let documents = match yaml::read(text) {
        Ok(documents) => documents,
        Err(problem) => return problems.push(Problem::at(file, problem.place, problem.message)),
    };
    for document in &documents {
        let Kind::Map(fields) = &document.kind else {
            let message = "is not a set of schedules: must be a map";
            problems.push(Problem::at(file, document.place, message));
            continue;
        };
        for (key, _) in fields.iter().filter(|(key, _)| !FIELDS.contains(&key.text.as_str())) {
            let message = format!("{} is not a field of a set", key.text);
            problems.push(Problem::at(file, key.place, message));
        }
        // A document without a valid name is checked all the same, so that all problems are
        // reported at once. No set is applied then, so the name does not matter.
        let named = set_name(document).map_err(|(place, message)| {
            problems.push(Problem::at(file, place, message));
            "unnamed".parse()
        });
        let (Ok(name) | Err(Ok(name))) = named else { continue };
        let defaults = defaults(document, file, problems);
        let mut pieces = |list: &str, id: &str, defaults: &[(Key, Node)]| {
            elements(document, list, id, defaults, file, problems)
        };
        let workflows = pieces("workflows", "workflow_id", &[]);
        let schedules = pieces("schedules", "schedule_id", defaults);
        match sets.iter_mut().find(|set| set.name == name) {
            Some(set) => {
                set.workflows.extend(workflows);
                set.schedules.extend(schedules);
            }
            None => sets.push(Set { name, workflows, schedules }),
        }
    }
}

/// The name of a document's set, or what is wrong with it and where.
fn set_name(document: &Node) -> Result<SetName, (Place, String)> {
    match document.get("set").map(|node| (node.place, node.value())) {
        None => Err((document.place, "set: is required".to_owned())),
        Some((place, Value::String(name))) => {
            name.parse().map_err(|problem| (place, format!("set: {problem}")))
        }
        Some((place, _)) => Err((place, "set: must be a text".to_owned())),
    }
}

/// The fields that a document's schedules have by default.
fn defaults<'a>(document: &'a Node, file: &str, problems: &mut Vec<Problem>) -> &'a [(Key, Node)] {
    match document.get("defaults") {
        Some(Node { kind: Kind::Map(fields), .. }) => fields,
        None => &[],
        Some(node) => {
            problems.push(Problem::at(file, node.place, "defaults: must be a map"));
            &[]
        }
    }
}

/// The elements of a list, or of a map by name, with the defaults filled in where an element has no
/// such field.
fn elements(
    document: &Node,
    list: &str,
    id: &str,
    defaults: &[(Key, Node)],
    file: &str,
    problems: &mut Vec<Problem>,
) -> Vec<Piece> {
    let nodes: Vec<Node> = match document.get(list).map(|node| &node.kind) {
        None | Some(Kind::Scalar { value: Value::Null, .. }) => Vec::new(),
        Some(Kind::List(nodes)) => nodes.clone(),
        Some(Kind::Map(fields)) => {
            fields.iter().map(|(key, node)| named(key, node, id, file, problems)).collect()
        }
        Some(Kind::Scalar { .. }) => {
            let place = document.find(list, None);
            problems.push(Problem::at(file, place, format!("{list}: must be a list or a map")));
            Vec::new()
        }
    };
    let complete = |mut node: Node| {
        if let Kind::Map(fields) = &mut node.kind {
            for (key, value) in defaults {
                if !fields.iter().any(|(has, _)| has.text == key.text) {
                    fields.push((key.clone(), value.clone()));
                }
            }
        }
        Piece { file: file.to_owned(), node }
    };
    nodes.into_iter().map(complete).collect()
}

/// An element of a map by name: its key becomes its id.
fn named(key: &Key, node: &Node, id: &str, file: &str, problems: &mut Vec<Problem>) -> Node {
    let mut node = node.clone();
    if let Some(twice) = node.get(id) {
        problems.push(Problem::at(
            file,
            twice.place,
            format!("{id}: is given by the key already; remove it"),
        ));
        return node;
    }
    if let Kind::Scalar { value: Value::Null, .. } = node.kind {
        node = Node { place: key.place, kind: Kind::Map(Vec::new()), tag: None };
    }
    if let Kind::Map(fields) = &mut node.kind {
        let name = Kind::Scalar { value: Value::from(key.text.as_str()), lead: Some(0) };
        let key = Key { text: id.to_owned(), place: key.place };
        fields.insert(0, (key.clone(), Node { place: key.place, kind: name, tag: None }));
    }
    node
}

impl Set {
    /// The set as the request body the API takes.
    pub(crate) fn body(&self) -> Value {
        let values =
            |pieces: &[Piece]| pieces.iter().map(|piece| piece.node.value()).collect::<Vec<_>>();
        json!({
            "set": self.name,
            "workflows": values(&self.workflows),
            "schedules": values(&self.schedules),
        })
    }

    pub(crate) fn size(&self) -> usize {
        self.schedules.len()
    }

    fn problems(&self) -> Vec<Problem> {
        match Declaration::parse(&self.body(), &self.name, &House::default()) {
            Ok(_) => Vec::new(),
            Err(invalid) => invalid.iter().map(|invalid| self.locate(invalid)).collect(),
        }
    }

    /// Translates a problem that names a place in the request body into one that names a place in
    /// the file.
    pub(crate) fn locate(&self, invalid: &Invalid) -> Problem {
        let message = |field: &str| match field {
            "" => invalid.message.clone(),
            field => format!("{field}: {}", invalid.message),
        };
        let found = invalid.field.split_once('[').and_then(|(list, rest)| {
            let (place, path) = rest.split_once(']')?;
            let pieces = if list == "workflows" { &self.workflows } else { &self.schedules };
            let piece = pieces.get(place.parse::<usize>().ok()?)?;
            Some((piece, path.trim_start_matches('.')))
        });
        match found {
            Some((piece, path)) => {
                let place = piece.node.find(path, invalid.at);
                Problem::at(&piece.file, place, message(path))
            }
            None => {
                let file = self.schedules.first().or(self.workflows.first());
                let file = file.map_or_else(|| self.name.to_string(), |piece| piece.file.clone());
                Problem { file, line: 0, column: 0, message: message(&invalid.field) }
            }
        }
    }

    /// Warnings about schedules that are valid.
    pub(crate) fn warnings(&self) -> Vec<Problem> {
        let now = SystemTime.now();
        let Ok(declaration) = Declaration::parse(&self.body(), &self.name, &House::default())
        else {
            return Vec::new();
        };
        let mut warnings = Vec::new();
        for (piece, declared) in self.schedules.iter().zip(&declaration.schedules) {
            let timing = &declared.definition.timing;
            let Ok(readable) = timing.read(&declared.schedule_id, now) else { continue };
            if !timing.is_silent() {
                let place = piece.node.find("cron_expr", None);
                let odd = readable.timetable.warnings(now).into_iter();
                warnings.extend(odd.map(|w| Problem::at(&piece.file, place, w.message)));
            }
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Set>, Vec<String>) {
        let (mut sets, mut problems) = (Vec::new(), Vec::new());
        add(&mut sets, &mut problems, "f.yaml", text);
        problems.extend(sets.iter().flat_map(Set::problems));
        problems.sort();
        (sets, problems.iter().map(Problem::to_string).collect())
    }

    #[test]
    fn lists_maps_defaults_and_documents_come_to_the_same() {
        let list = "set: billing\nworkflows:\n- {workflow_id: w, version: 1, target: {kind: lambda, function: f}}\n\
                    schedules:\n- {schedule_id: a, workflow_id: w, cron_expr: 0 2 * * *, jitter_ms: 5}\n\
                    - {schedule_id: b, workflow_id: w, cron_expr: 0 3 * * *, jitter_ms: 7}\n";
        let map = "set: billing\ndefaults: {workflow_id: w, jitter_ms: 5}\nworkflows:\n  w:\n    version: 1\n    \
                   target: {kind: lambda, function: f}\nschedules:\n  a: {cron_expr: 0 2 * * *}\n\
                   ---\nset: billing\nschedules:\n  b: {workflow_id: w, cron_expr: 0 3 * * *, jitter_ms: 7}\n";
        let ((one, none), (other, nothing)) = (read(list), read(map));
        assert_eq!((none, nothing), (vec![], vec![]));
        assert_eq!((one.len(), other.len()), (1, 1));
        assert_eq!(one[0].body(), other[0].body());
    }

    #[test]
    fn every_problem_is_told_by_its_line_and_column() {
        let text = "set: billing\ncolour: red\ndefaults:\n  workflow_id: w\n  jitter_ms: -1\nschedules:\n\
                    - schedule_id: a\n  cron_expr: 0 25 * * *\n  timezone: Mars/Base\n- cron_expr: '0 2 * * *'\n  \
                    jitter_ms: 1\n";
        let (_, problems) = read(text);
        assert_eq!(problems.len(), 5, "{problems:#?}");
        assert!(problems[0].starts_with("f.yaml:2:1: colour is not a field"), "{problems:#?}");
        assert!(problems[1].starts_with("f.yaml:5:14: jitter_ms:"), "{problems:#?}");
        assert!(problems[2].starts_with("f.yaml:8:16: cron_expr: hour: 25"), "{problems:#?}");
        assert!(problems[3].starts_with("f.yaml:9:13: timezone:"), "{problems:#?}");
        assert!(problems[4].starts_with("f.yaml:10:3: schedule_id: is required"), "{problems:#?}");
        assert_eq!(read("schedules: []").1, ["f.yaml:1:1: set: is required"]);
        assert_eq!(read("set: a b").1.len(), 1);
        assert_eq!(read("- x").1, ["f.yaml:1:1: is not a set of schedules: must be a map"]);
    }
}
