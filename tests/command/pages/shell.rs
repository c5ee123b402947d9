//! A shell beside a `belfry dev`, as the reader of a page has it.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::binary;

/// The last line that `belfry dev` prints when it is ready.
const READY: &str = "Press Ctrl-C";
/// What the shell prints after each command.
const DONE: &str = "<done>";
/// Where the output of a command in the background goes.
const BACKGROUND: &str = "background.txt";

/// A shell in a folder with a `belfry dev`.
pub(super) struct Shell {
    folder: PathBuf,
    system: Child,
    shell: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// What the page calls 127.0.0.1:7600.
    host: String,
    /// What the page calls port 7830.
    target_port: u16,
}

impl Shell {
    /// Starts the system with its defaults, except for the port.
    pub(super) fn start(folder: &Path) -> Shell {
        std::fs::create_dir_all(folder.join("target/debug")).unwrap();
        symlink(binary("belfry"), folder.join("target/debug/belfry")).unwrap();
        let file = |name: &str| Stdio::from(File::create(folder.join(name)).unwrap());
        let system = Command::new(folder.join("target/debug/belfry"))
            .args(["dev", "--port", "0"])
            .current_dir(folder)
            .env_remove("RUST_LOG")
            .stdout(file("ready.txt"))
            .stderr(file("log.txt"))
            .spawn()
            .unwrap();
        let ready = wait_for(&folder.join("ready.txt"), READY);
        let url = ready.lines().find_map(|line| line.trim().strip_prefix("API")).unwrap().trim();
        let host = url.trim_start_matches("http://").trim_end_matches("/api/v1").to_owned();
        let mut shell = Command::new("bash")
            .args(["--noprofile", "--norc"])
            .current_dir(folder)
            // The command line's default is the port that the page names.
            .env("BELFRY_URL", format!("http://{host}"))
            .env_remove("BELFRY_TOKEN")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = shell.stdin.take().unwrap();
        // A reader's shell knows aliases, and shows errors.
        input.write_all(b"shopt -s expand_aliases; exec 2>&1\n").unwrap();
        let output = BufReader::new(shell.stdout.take().unwrap());
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let target_port = free.local_addr().unwrap().port();
        Shell { folder: folder.to_owned(), system, shell, input, output, host, target_port }
    }

    /// Runs a command of the page; answers with its exit code and its output.
    pub(super) fn run(&mut self, command: &str) -> (i32, String) {
        let mut command = self.adapted(command);
        if let Some(alone) = command.strip_suffix('&') {
            command = format!("{alone} > {BACKGROUND} 2>&1 &");
        }
        writeln!(self.input, "{command}\necho; echo '{DONE}' $?").unwrap();
        let mut all = String::new();
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).unwrap();
            assert!(read > 0, "the shell ended in: {command}\n{all}");
            match line.strip_prefix(DONE) {
                Some(code) => return (code.trim().parse().unwrap(), all.trim().to_owned()),
                None => all.push_str(&line),
            }
        }
    }

    /// Saves a program of the page.
    pub(super) fn save(&self, name: &str, program: &str) {
        std::fs::write(self.folder.join(name), self.adapted(program)).unwrap();
    }

    /// What the system printed when it was ready.
    pub(super) fn ready(&self) -> String {
        std::fs::read_to_string(self.folder.join("ready.txt")).unwrap()
    }

    /// What the system has logged, and what the command in the background has printed.
    pub(super) fn printed(&self) -> String {
        let text = |name: &str| std::fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        text("log.txt") + &text(BACKGROUND)
    }

    fn adapted(&self, text: &str) -> String {
        text.replace("127.0.0.1:7600", &self.host).replace("7830", &self.target_port.to_string())
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.input.write_all(b"kill $(jobs -p) 2>/dev/null; exit\n");
        let _ = self.shell.wait();
        let _ = self.system.kill();
        let _ = self.system.wait();
    }
}

/// The text of a file once it contains `what`.
fn wait_for(path: &Path, what: &str) -> String {
    let since = Instant::now();
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.contains(what) {
            return text;
        }
        assert!(since.elapsed() < Duration::from_secs(30), "belfry dev is not ready: {text}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
