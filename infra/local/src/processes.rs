//! Functions as processes: the real binaries, fed over the Lambda Runtime API.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode};
use axum::{Router, routing};
use belfry_time::Time;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, mpsc, oneshot};
use tracing::{error, info};

use crate::functions::{self, Function, InvokeError};
use crate::services::{StartError, listen, url};

/// The time limit of an invocation, after which its process is killed.
const TIMEOUT: Duration = Duration::from_secs(functions::TIMEOUT.num_seconds() as u64);
/// The pause before a dead process is replaced, so that one that cannot start does not restart in a
/// busy loop.
const REST: Duration = Duration::from_millis(200);
/// Instances of the launcher, the only function of which several run at once.
const LAUNCHERS: usize = 4;

/// The processes of every function.
pub struct Processes {
    jobs: HashMap<Function, mpsc::Sender<Job>>,
}

struct Job {
    event: Value,
    answer: oneshot::Sender<Result<Value, InvokeError>>,
}

/// How to start the processes.
pub struct Launchpad {
    /// The folder of the binaries.
    pub binaries: PathBuf,
    /// Their environment variables.
    pub environment: Vec<(String, String)>,
    /// The clock that sets their deadlines.
    pub time: Arc<dyn Time>,
}

impl Processes {
    /// Starts every function.
    pub fn start(launchpad: Launchpad) -> Result<Processes, StartError> {
        let launchpad = Arc::new(launchpad);
        let mut jobs = HashMap::new();
        for function in Function::ALL {
            let binary = launchpad.binaries.join(function.name());
            if !binary.is_file() {
                return Err(StartError::Processes(format!(
                    "{} is missing: build the functions with `cargo build --workspace --bins`",
                    binary.display()
                )));
            }
            let (sender, receiver) = mpsc::channel(1000);
            let receiver = Arc::new(Mutex::new(receiver));
            let instances = if function == Function::Launcher { LAUNCHERS } else { 1 };
            for _ in 0..instances {
                let listener = listen("the Lambda Runtime API", 0)?;
                let address = url(&listener)?.replacen("http://", "", 1);
                let listener = TcpListener::from_std(listener)
                    .map_err(|e| StartError::Io("listen".to_owned(), e))?;
                let instance = Arc::new(Instance {
                    function,
                    jobs: receiver.clone(),
                    current: StdMutex::default(),
                    launchpad: launchpad.clone(),
                });
                tokio::spawn(serve(listener, instance.clone()));
                tokio::spawn(keep_running(instance, address, binary.clone()));
            }
            jobs.insert(function, sender);
        }
        Ok(Processes { jobs })
    }

    /// Sends an event to a function and waits for the answer.
    pub async fn invoke(&self, function: Function, event: Value) -> Result<Value, InvokeError> {
        let gone = || InvokeError(format!("the process of {} has ended", function.name()));
        let (answer, wait) = oneshot::channel();
        let jobs = self.jobs.get(&function).ok_or_else(gone)?;
        jobs.send(Job { event, answer }).await.map_err(|_| gone())?;
        wait.await.map_err(|_| gone())?
    }
}

/// One process and its current invocation.
struct Instance {
    function: Function,
    jobs: Arc<Mutex<mpsc::Receiver<Job>>>,
    current: StdMutex<Current>,
    launchpad: Arc<Launchpad>,
}

#[derive(Default)]
struct Current {
    number: u64,
    answer: Option<oneshot::Sender<Result<Value, InvokeError>>>,
    since: Option<tokio::time::Instant>,
}

impl Instance {
    fn current(&self) -> std::sync::MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers the current invocation, if there is one.
    fn answer(&self, result: Result<Value, InvokeError>) {
        let mut current = self.current();
        current.since = None;
        if let Some(answer) = current.answer.take() {
            // The caller may have gone.
            let _ = answer.send(result);
        }
    }

    fn is_overdue(&self) -> bool {
        self.current().since.is_some_and(|since| since.elapsed() > TIMEOUT)
    }
}

async fn keep_running(instance: Arc<Instance>, address: String, binary: PathBuf) {
    let name = instance.function.name();
    loop {
        let mut child = match spawn(&instance.launchpad, &address, &binary) {
            Ok(child) => child,
            Err(problem) => {
                error!(function = name, %problem, "function process did not start");
                tokio::time::sleep(REST).await;
                continue;
            }
        };
        let how = loop {
            match tokio::time::timeout(Duration::from_secs(1), child.wait()).await {
                Ok(Ok(status)) => break status.to_string(),
                Ok(Err(problem)) => break problem.to_string(),
                Err(_) if instance.is_overdue() => {
                    let _ = child.kill().await;
                    break "the invocation exceeded its time limit and was killed".to_owned();
                }
                Err(_) => {}
            }
        };
        // The invocation ends with its process: it fails now instead of at a time-out.
        instance.answer(Err(InvokeError(format!("{name} ended: {how}"))));
        info!(function = name, how, "function process ended, starting another");
        tokio::time::sleep(REST).await;
    }
}

fn spawn(launchpad: &Launchpad, address: &str, binary: &PathBuf) -> std::io::Result<Child> {
    let name = binary.file_name().unwrap_or_default();
    Command::new(binary)
        .env_clear()
        .envs(launchpad.environment.iter().map(|(name, value)| (name, value)))
        .env("AWS_LAMBDA_RUNTIME_API", address)
        .env("AWS_LAMBDA_FUNCTION_NAME", name)
        .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128")
        .env("AWS_LAMBDA_LOG_GROUP_NAME", "local")
        .env("AWS_LAMBDA_LOG_STREAM_NAME", "local")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()
}

async fn serve(listener: TcpListener, instance: Arc<Instance>) {
    let base = "/2018-06-01/runtime";
    let router = Router::new()
        .route(&format!("{base}/invocation/next"), routing::get(next))
        .route(&format!("{base}/invocation/{{id}}/response"), routing::post(respond))
        .route(&format!("{base}/invocation/{{id}}/error"), routing::post(fail))
        .route(&format!("{base}/init/error"), routing::post(init_error))
        .with_state(instance);
    if let Err(problem) = axum::serve(listener, router).await {
        error!(%problem, "the Lambda Runtime API stopped");
    }
}

async fn next(State(instance): State<Arc<Instance>>) -> Response<Body> {
    let Some(job) = instance.jobs.lock().await.recv().await else {
        return status(StatusCode::GONE);
    };
    let number = {
        let mut current = instance.current();
        current.number += 1;
        current.answer = Some(job.answer);
        current.since = Some(tokio::time::Instant::now());
        current.number
    };
    let deadline = instance.launchpad.time.now().timestamp_millis() + TIMEOUT.as_millis() as i64;
    let name = instance.function.name();
    let arn = format!("arn:aws:lambda:us-east-1:000000000000:function:{name}");
    Response::builder()
        .header("Lambda-Runtime-Aws-Request-Id", number.to_string())
        .header("Lambda-Runtime-Deadline-Ms", deadline.to_string())
        .header("Lambda-Runtime-Invoked-Function-Arn", arn)
        .header("Content-Type", "application/json")
        .body(Body::from(job.event.to_string()))
        .unwrap_or_else(|_| status(StatusCode::INTERNAL_SERVER_ERROR))
}

async fn respond(
    State(instance): State<Arc<Instance>>,
    Path(id): Path<String>,
    body: Bytes,
) -> Response<Body> {
    if instance.current().number.to_string() == id {
        let answer = serde_json::from_slice(&body);
        instance.answer(answer.map_err(|e| InvokeError(format!("unreadable answer: {e}"))));
    }
    status(StatusCode::ACCEPTED)
}

async fn fail(
    State(instance): State<Arc<Instance>>,
    Path(id): Path<String>,
    body: Bytes,
) -> Response<Body> {
    if instance.current().number.to_string() == id {
        let error: Value = serde_json::from_slice(&body).unwrap_or_else(|_| json!({}));
        let message = error["errorMessage"]
            .as_str()
            .unwrap_or("the function reported no error message")
            .to_owned();
        instance.answer(Err(InvokeError(message)));
    }
    status(StatusCode::ACCEPTED)
}

async fn init_error(State(instance): State<Arc<Instance>>, body: Bytes) -> Response<Body> {
    let problem = String::from_utf8_lossy(&body).into_owned();
    error!(function = instance.function.name(), problem, "function process did not start");
    status(StatusCode::ACCEPTED)
}

fn status(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = code;
    response
}
