//! The metric lines of a world, collected by its deployment's name, which is in every line.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use belfry_engine::metrics::Name;
use serde_json::Value;

static LINES: Mutex<BTreeMap<String, Vec<Value>>> = Mutex::new(BTreeMap::new());

/// Keeps a metric line of a deployment that is watched, and drops the others.
pub fn collect(line: &Value) {
    let deployment = line["Deployment"].as_str().unwrap_or_default();
    if let Some(lines) = LINES.lock().unwrap().get_mut(deployment) {
        lines.push(line.clone());
    }
}

/// Watches the metrics of a deployment. It must be asked for exactly the metrics that it promised.
pub struct Metered {
    deployment: String,
    promised: BTreeSet<&'static str>,
    asked: Mutex<BTreeSet<&'static str>>,
}

impl Metered {
    /// Watches a deployment whose name no other test uses.
    pub fn of(deployment: &str, promised: &[Name]) -> Metered {
        let before = LINES.lock().unwrap().insert(deployment.to_owned(), Vec::new());
        assert!(before.is_none(), "{deployment} is watched twice");
        let promised = promised.iter().map(|name| name.as_str()).collect();
        Metered { deployment: deployment.to_owned(), promised, asked: Mutex::default() }
    }

    /// Every value of a metric so far.
    #[track_caller]
    pub fn values(&self, name: Name) -> Vec<f64> {
        let name = name.as_str();
        assert!(self.promised.contains(name), "{name} is not in the table of this story");
        self.asked.lock().unwrap().insert(name);
        let lines = LINES.lock().unwrap();
        let values = lines[&self.deployment].iter().flat_map(|line| match &line[name] {
            Value::Null => Vec::new(),
            Value::Array(values) => values.clone(),
            value => vec![value.clone()],
        });
        values.map(|value| value.as_f64().unwrap()).collect()
    }

    /// Expects these sums so far.
    #[track_caller]
    pub fn expect(&self, sums: &[(Name, f64)]) {
        let found: Vec<_> =
            sums.iter().map(|(name, _)| (*name, self.values(*name).iter().sum::<f64>())).collect();
        assert_eq!(found, sums);
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        LINES.lock().unwrap().remove(&self.deployment);
        if !std::thread::panicking() {
            assert_eq!(*self.asked.lock().unwrap(), self.promised, "promised and not asked for");
        }
    }
}
