//! The pages that a newcomer follows: every command of their `console` blocks is run as printed, in
//! one shell, and its output is compared with the printed one.
//!
//! What stands in for the reader: `make dev` is `belfry dev` on free ports, the ports of the page
//! become those, and a command that only reads is repeated until its output is there. `...` on a
//! page stands for anything. Times, dates, tokens, hashes and addresses are compared by their shape.

mod output;
mod shell;

use std::path::Path;
use std::time::{Duration, Instant};

use crate::dev::{ALONE, Folder};
use output::Expected;
use shell::Shell;

/// How long the longest interval of a page, ten seconds, and a busy machine need.
const PATIENCE: Duration = Duration::from_secs(40);

/// A fenced block of a page.
struct Block {
    language: String,
    text: String,
}

/// A command of a block, and what the page prints below it.
#[derive(Debug, PartialEq)]
struct Step {
    command: String,
    printed: String,
}

fn page(name: &str) -> String {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    std::fs::read_to_string(top.join(name)).unwrap()
}

/// The fenced blocks of a page, without the indentation that they have in a list.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = None;
    for line in page.lines() {
        let indent = line.len() - line.trim_start().len();
        match (inside, line.trim_start().strip_prefix("```")) {
            (None, Some(language)) => {
                inside = Some(indent);
                blocks.push(Block { language: language.to_owned(), text: String::new() });
            }
            (Some(_), Some(_)) => inside = None,
            (Some(indent), None) => {
                let block = blocks.last_mut().unwrap();
                block.text.push_str(line.get(indent..).unwrap_or_default());
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

/// The commands of a `console` block. A line that ends with `\` continues on the next.
fn steps(block: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut continues = false;
    for line in block.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => {
                steps.push(Step { command: command.to_owned(), printed: String::new() });
            }
            (None, Some(step)) if continues => step.command.push_str(&format!("\n{line}")),
            (None, Some(step)) => step.printed.push_str(&format!("{line}\n")),
            (None, None) => panic!("a console block begins with a command: {block}"),
        }
        let command = steps.last().is_some_and(|step| step.printed.is_empty());
        continues = command && line.ends_with('\\');
    }
    steps
}

/// Follows a page in a shell beside a new `belfry dev`, after `before` was run there.
async fn follow(name: &str, before: &[&str], least: usize) {
    let _alone = ALONE.lock().await;
    let folder = Folder::new("pages");
    let mut shell = Shell::start(&folder.0);
    for command in before {
        let (code, output) = shell.run(command);
        assert_eq!(code, 0, "{command}: {output}");
    }
    let mut followed = 0;
    for block in blocks(&page(name)) {
        match block.language.as_str() {
            "console" => {
                for step in steps(&block.text) {
                    take(&mut shell, name, &step);
                    followed += 1;
                }
            }
            // The program that the page tells to save under this name.
            "python" => shell.save("target.py", &block.text),
            "text" => was_printed(&shell, name, &block.text),
            _ => {}
        }
    }
    assert!(followed >= least, "{name}: {followed} commands: the page is not understood any more");
}

/// Runs a command of a page, and checks its output.
fn take(shell: &mut Shell, page: &str, step: &Step) {
    // A page whose expression has a fixed beginning prints exact times.
    let expected = Expected::read(&step.printed, step.command.contains("after"));
    if step.command == "make dev" {
        let told = expected.check(&shell.ready());
        assert_eq!(told, Ok(()), "{page}: make dev");
        return;
    }
    let changes = [" -X ", " create ", " pause ", " trigger "];
    let reads = !changes.iter().any(|it| step.command.contains(it));
    let since = Instant::now();
    loop {
        let (code, output) = shell.run(&step.command);
        let told = match code {
            0 => expected.check(&output),
            _ => Err(format!("exits with {code}")),
        };
        match told {
            Ok(()) => return,
            Err(_) if reads && since.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(500));
            }
            Err(why) => panic!(
                "{page}: `{}` does not print what the page says: {why}\n--- printed by the page:\n{}\
                 \n--- output:\n{output}",
                step.command, step.printed
            ),
        }
    }
}

/// Waits until the system or the target has printed what the page says.
fn was_printed(shell: &Shell, page: &str, block: &str) {
    // Lines of a log are one entry each; what the target prints is wrapped on the page.
    let entries: Vec<String> = match block.starts_with("good ") {
        true => vec![block.to_owned()],
        false => block.lines().map(str::to_owned).collect(),
    };
    for entry in entries {
        let since = Instant::now();
        let is_there = || shell.printed().lines().any(|line| output::is_like(&entry, line));
        while !is_there() {
            let printed = shell.printed();
            assert!(since.elapsed() < PATIENCE, "{page}: was not printed: {entry}\nbut: {printed}");
            std::thread::sleep(Duration::from_millis(500));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_readme_can_be_followed_as_printed() {
    follow("README.md", &[], 5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_can_be_followed_from_top_to_bottom_as_printed() {
    follow("docs/guide.md", &[], 22).await;
}

/// What a reader of the other pages has at hand: the command, a token, and a workflow `report`.
const AT_HAND: [&str; 2] = [
    "alias belfry=target/debug/belfry; export BELFRY_TOKEN=$(target/debug/belfry token)",
    "belfry workflows publish report 1 --target '{\"kind\": \"http\", \"url\": \"http://127.0.0.1:7830/run\"}'",
];

#[tokio::test(flavor = "multi_thread")]
async fn the_shorter_pages_for_users_can_be_followed_as_printed() {
    follow("docs/testing.md", &AT_HAND, 3).await;
    let create = "belfry schedules create report --workflow report --cron '0 9 * * *'";
    follow("docs/troubleshooting.md", &[&AT_HAND[..], &[create]].concat(), 2).await;
    follow("docs/time-zones.md", &AT_HAND, 1).await;
}

#[test]
fn a_page_is_read_as_a_reader_does() {
    let text = "1. Do:\n\n   ```console\n   $ one \\\n       more\n   out\n   $ two\n   ```\n\n```text\nlog\n```\n";
    let blocks = blocks(text);
    assert_eq!((blocks.len(), blocks[1].text.as_str()), (2, "log\n"));
    let step = |command: &str, printed: &str| Step {
        command: command.to_owned(),
        printed: printed.to_owned(),
    };
    assert_eq!(steps(&blocks[0].text), [step("one \\\n    more", "out\n"), step("two", "")]);
}
