//! The app: settings, clients and caches. A process makes one app and lends it to every use case.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use belfry_core::guard::network::Reachable;
use belfry_core::id::WorkflowId;
use belfry_core::instant::Instant;
use belfry_core::workflow::Workflow;
use belfry_time::{SystemTime, Time};
use chrono::SubsecRound;
use tokio::sync::OnceCell;

use crate::cloud::bus::Events;
use crate::cloud::launch_queue::Queue;
use crate::cloud::store::Store;
use crate::cloud::targets::Targets;
use crate::cloud::throttle::Gate;
use crate::cloud::tick_queue::TickQueue;
use crate::fault::Fault;
use crate::metrics::{self, Metric, Name, Sink, Tally, to_stdout};
use crate::settings::{BadSetting, Settings};

/// The services, the settings and the time that a use case works with.
pub struct App {
    /// The settings of this deployment.
    pub settings: Settings,
    /// The DynamoDB tables.
    pub store: Store,
    /// The launch queue, in which fires wait for their launch time.
    pub queue: Queue,
    /// The queue through which ticks hand over the work that they do not take on.
    pub tick_queue: TickQueue,
    /// The targets, which run the workflows.
    pub targets: Targets,
    /// The event bus, which is told what happens to runs and schedules.
    pub events: Events,
    /// The source of the present time; tests move it.
    pub time: Arc<dyn Time>,
    /// The sink for metric lines: standard output, unless a test replaces it.
    pub metrics: Sink,
    tally: Tally,
    calls: AtomicU64,
    workflows: Mutex<Workflows>,
}

/// Workflow versions that have been read or are being read.
type Workflows = HashMap<(WorkflowId, u32), Arc<OnceCell<Arc<Workflow>>>>;

/// A warm launcher caches this many versions, then empties the cache and starts over.
const MAX_CACHED_WORKFLOWS: usize = 1000;

/// Concurrent writes to the tables while none is throttled: the work of four batches.
const MAX_WRITES: usize = 128;
/// Concurrent calls of the launch queue while none is throttled.
const MAX_SENDS: usize = 64;

/// Tries of one SDK call. The SDK retries throttled calls and transient errors; the tick and the
/// queue retry the rest.
const SDK_ATTEMPTS: u32 = 5;

impl App {
    /// Makes an app whose clients are configured by `sdk`.
    pub fn new(sdk: &SdkConfig, settings: Settings, time: Arc<dyn Time>) -> App {
        let (writes, sends) = (Gate::new(MAX_WRITES), Gate::new(MAX_SENDS));
        let tables = aws_sdk_dynamodb::config::Builder::from(sdk).interceptor(writes.clone());
        let tables = aws_sdk_dynamodb::Client::from_conf(tables.build());
        let queues = aws_sdk_sqs::config::Builder::from(sdk).interceptor(sends.clone());
        let queues = aws_sdk_sqs::Client::from_conf(queues.build());
        App {
            store: Store::new(tables, &settings, writes),
            tick_queue: TickQueue::new(queues.clone(), &settings),
            queue: Queue::new(queues, &settings, sends),
            targets: Targets::new(sdk, &settings),
            events: Events::new(sdk, &settings),
            settings,
            time,
            metrics: to_stdout,
            tally: Tally::default(),
            calls: AtomicU64::new(0),
            workflows: Mutex::default(),
        }
    }

    /// Makes the app of a function in AWS, with settings and credentials from the environment.
    pub async fn from_environment() -> Result<App, Box<dyn std::error::Error + Send + Sync>> {
        let settings = settings_from_environment().map_err(|problems| {
            let problems: Vec<_> = problems.iter().map(BadSetting::to_string).collect();
            format!("settings: {}", problems.join("; "))
        })?;
        let retries = RetryConfig::standard().with_max_attempts(SDK_ATTEMPTS);
        let sdk = aws_config::from_env().retry_config(retries).load().await;
        Ok(App::new(&sdk, settings, Arc::new(SystemTime)))
    }

    /// The present time in whole milliseconds: finer digits are noise in a record.
    pub fn now(&self) -> Instant {
        self.time.now().trunc_subsecs(3)
    }

    /// A new id for one call of this process, by which the process recognises a write of its own.
    pub(crate) fn call_id(&self) -> String {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        format!("{}.{number}", self.time.now().timestamp_micros())
    }

    /// Publishes metrics, together with what was tallied.
    pub fn count(&self, metrics: &[Metric]) {
        let metrics: Vec<_> = metrics.iter().cloned().chain(self.tally.take()).collect();
        for line in metrics::lines(&self.settings.deployment, &metrics, self.now()) {
            (self.metrics)(&line);
        }
    }

    /// Counts one event. It is published with the next metrics of this process, at the latest when
    /// the invocation ends.
    pub(crate) fn tally(&self, name: Name) {
        self.tally.add(name);
    }

    /// Reads a workflow version through the cache, which is safe because a version never changes.
    pub async fn workflow(
        &self,
        id: &WorkflowId,
        version: u32,
    ) -> Result<Option<Arc<Workflow>>, Fault> {
        let key = (id.clone(), version);
        let cell = {
            let mut known = self.workflows();
            if known.len() >= MAX_CACHED_WORKFLOWS && !known.contains_key(&key) {
                known.clear();
            }
            known.entry(key).or_default().clone()
        };
        // Callers that come while the version is being read wait for that read: a batch of launches
        // asks for the same version all at once.
        let read = cell.get_or_try_init(async || match self.store.workflow(id, version).await {
            Ok(Some(workflow)) => Ok(Arc::new(workflow)),
            Ok(None) => Err(None),
            Err(fault) => Err(Some(fault)),
        });
        match read.await {
            Ok(workflow) => Ok(Some(workflow.clone())),
            Err(None) => Ok(None),
            Err(Some(fault)) => Err(fault),
        }
    }

    fn workflows(&self) -> MutexGuard<'_, Workflows> {
        self.workflows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(clippy::disallowed_methods, reason = "the edge where a function reads its environment")]
fn settings_from_environment() -> Result<Settings, Vec<BadSetting>> {
    Settings::read(|name| std::env::var(name).ok())
}

/// The addresses that a function may reach, for a function that could not read its other settings.
#[expect(clippy::disallowed_methods, reason = "the edge where a function reads its environment")]
pub(crate) fn reachable_from_environment() -> Reachable {
    Settings::reachable(|name| std::env::var(name).ok())
}
