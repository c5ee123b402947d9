"""Lints the deploy template: expands it offline with SAM's translator, then runs cfn-lint and `sam validate`.

Then plants the faults of faults.yaml that the lint must catch, and checks that it catches each. The file written by
the Rust test says what the contract caught.
"""

import json
import pathlib
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import yaml

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
TEMPLATE = ROOT / "infra/template.yaml"
sys.path.insert(0, str(ROOT / "infra/deploy"))

from expand import expand  # noqa: E402


def lint(text):
    """The first problems of a template."""
    from cfnlint.api import ManualArgs, lint as cfn_lint

    try:
        expanded = json.dumps(expand(text))
    except Exception as problem:  # The translator raises what it likes; all of it is a refusal.
        return [f"the translator: {problem}"]
    # As strict as a deployment: warnings count.
    found = cfn_lint(expanded, config=ManualArgs(regions=["us-east-1"]))
    return [f"{match.rule.id} {match.message}" for match in found]


def lint_examples():
    """The problems of the example stacks that declare schedules; they need no SAM."""
    from cfnlint.api import ManualArgs, lint as cfn_lint

    config = ManualArgs(regions=["us-east-1"])
    examples = sorted((ROOT / "infra/examples").glob("*.yaml"))
    return [
        f"{path.relative_to(ROOT)}: {match.rule.id} {match.message}"
        for path in examples
        for match in cfn_lint(path.read_text(), config=config)
    ]


def main(contract):
    text = TEMPLATE.read_text()
    faults = yaml.safe_load((HERE / "faults.yaml").read_text())
    ours = [fault for fault in faults if "lint" in fault["by"]]
    copies = [text] + [text.replace(fault["find"], fault["becomes"], 1) for fault in ours]
    validate = subprocess.Popen(
        [pathlib.Path(sys.executable).with_name("sam"), "validate", "--lint", "--template", TEMPLATE, "--region", "us-east-1"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    with ProcessPoolExecutor(2) as pool:
        found, *planted = pool.map(lint, copies)
    linted = {fault["name"]: problems for fault, problems in zip(ours, planted)}
    said = validate.communicate()[0].strip()
    problems = [f"infra/template.yaml: {problem}" for problem in found] + lint_examples()
    if validate.returncode:
        problems.append(said)
    caught = json.loads(pathlib.Path(contract).read_text())
    print(f"{'planted fault':<58} {'caught by':<15} message")
    for fault in faults:
        name = fault["name"]
        rings = [ring for ring, by in (("contract", caught), ("lint", linted)) if by.get(name)]
        said_so = (linted.get(name) or caught[name] or [""])[0]
        print(f"{name:<58} {', '.join(rings) or 'NOTHING':<15} {said_so.splitlines()[0][:110]}")
        if rings != fault["by"]:
            problems.append(f"{name}: caught by {rings}, not by {fault['by']}")
    print(f"{len(faults)} planted faults. The template itself: {len(found)} problems; {said.splitlines()[-1]}")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main(sys.argv[1])
