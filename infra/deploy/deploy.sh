#!/bin/sh
# Deploys what `make build` made, with `sam deploy`. Parameters come as variables of make: see docs/deploy.md.
set -eu
template=target/lambda/$ARCH/template.yaml

need() {
  echo "make deploy: $1" >&2
  exit 1
}

[ -n "$STACK" ] || need "STACK names the deployment, such as STACK=belfry"
[ -n "$JWT_ISSUER" ] || need "JWT_ISSUER is the URL of who signs your callers' tokens, such as JWT_ISSUER=https://login.example.com/"
[ -f "$template" ] || need "$template is missing: run make build ARCH=$ARCH first"
.tools/deploy/bin/python infra/deploy/account.py || exit 1
if [ -n "$BUCKET" ]; then bucket="--s3-bucket $BUCKET --s3-prefix $STACK"; else bucket=--resolve-s3; fi
# The parameters are words: each is NAME=value.
# shellcheck disable=SC2086
exec .tools/deploy/bin/sam deploy --template-file "$template" --stack-name "$STACK" \
  $bucket --capabilities CAPABILITY_IAM --no-fail-on-empty-changeset --no-confirm-changeset \
  --parameter-overrides Architecture="$ARCH" JwtIssuer="$JWT_ISSUER" JwtAudience="$JWT_AUDIENCE" $PARAMETERS
