//! Compares the deploy template with the code: the template provides exactly what the functions
//! read, store, emit, serve and call, and nothing else.

mod contract;
mod faults;
mod scenario;

use belfry_tests::Template;

#[tokio::test(flavor = "multi_thread")]
async fn the_template_is_what_the_code_needs() {
    let problems = contract::problems(Template::ours(), scenario::seen().await);
    assert!(problems.is_empty(), "infra/template.yaml:\n{}", problems.join("\n"));
}
