#!/bin/sh
# Deploys the output of `make build` with `sam deploy`. Make passes the parameters as variables: see docs/deploy.md.
set -eu
template=target/lambda/$ARCH/template.yaml

need() {
  echo "make deploy: $1" >&2
  exit 1
}

[ -n "$STACK" ] || need "set STACK to the name of the deployment, such as STACK=belfry"
[ -n "$JWT_ISSUER" ] || need "set JWT_ISSUER to the URL of the issuer of your callers' tokens, such as JWT_ISSUER=https://login.example.com/"
[ -f "$template" ] || need "$template is missing: run make build ARCH=$ARCH first"
.tools/deploy/bin/python infra/deploy/account.py || exit 1
if [ -n "$BUCKET" ]; then bucket="--s3-bucket $BUCKET --s3-prefix $STACK"; else bucket=--resolve-s3; fi
# Unquoted on purpose: each word of PARAMETERS is one NAME=value.
# shellcheck disable=SC2086
exec .tools/deploy/bin/sam deploy --template-file "$template" --stack-name "$STACK" \
  $bucket --capabilities CAPABILITY_IAM --no-fail-on-empty-changeset --no-confirm-changeset \
  --parameter-overrides Architecture="$ARCH" JwtIssuer="$JWT_ISSUER" JwtAudience="$JWT_AUDIENCE" $PARAMETERS
