//! The machine: its clock, its load, and the resources its processes have used.

use std::fs;
use std::time::Duration;

use belfry_time::{SystemTime, Time};
use chrono::{DateTime, Utc};

/// The current time.
pub fn now() -> DateTime<Utc> {
    SystemTime.now()
}

/// The number of cores.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The load average of the last minute.
pub fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0)
}

/// CPU time of all cores, busy and total, since the machine started: the difference of two readings
/// is the share between them.
pub fn busy() -> (u64, u64) {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields = text.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let fields: Vec<u64> = fields.filter_map(|field| field.parse().ok()).collect();
    let idle = fields.get(3).copied().unwrap_or(0) + fields.get(4).copied().unwrap_or(0);
    (fields.iter().sum::<u64>().saturating_sub(idle), fields.iter().sum())
}

/// The CPU time of a process and its ended children.
pub fn cpu(pid: u32) -> Duration {
    cpu_by(&format!("/proc/{pid}/stat"))
}

/// The CPU time of a process's threads with this name.
pub fn cpu_of_threads(pid: u32, name: &str) -> Duration {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let is_named = |folder: &std::path::PathBuf| {
        fs::read_to_string(folder.join("comm")).is_ok_and(|comm| comm.trim_end() == name)
    };
    let named = threads.map(|thread| thread.path()).filter(is_named);
    named.map(|folder| cpu_by(&folder.join("stat").to_string_lossy())).sum()
}

fn cpu_by(file: &str) -> Duration {
    let text = fs::read_to_string(file).unwrap_or_default();
    // The name, in brackets, may contain spaces.
    let fields: Vec<&str> =
        text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let field = |place: usize| -> u64 {
        fields.get(place).and_then(|field| field.parse().ok()).unwrap_or(0)
    };
    // In hundredths of a second, whatever the kernel's tick.
    Duration::from_millis((field(11) + field(12)) * 10)
}

/// The peak memory of a process, in MiB.
pub fn peak_memory(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    let kib: f64 = line.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0.0);
    kib / 1024.0
}

/// The child processes of `parent`, with their names.
pub fn children(parent: u32) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().trim().to_owned()
        };
        if field("PPid:") == parent.to_string() {
            found.push((pid, field("Name:")));
        }
    }
    found
}
