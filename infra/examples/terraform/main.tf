# A set of schedules in Terraform, by the same API as `belfry apply`.
#
# Untested: no provider could be fetched where this was written. Two ways are shown; take one.
# Both need the variables belfry_url and belfry_token. The token is a secret: it ends up in the
# state of the second way, so keep that state encrypted, or take the first.

terraform {
  required_version = ">= 1.4"
}

variable "belfry_url" {
  description = "Address of the API, without /api/v1"
  type        = string
}

variable "belfry_token" {
  description = "A token with schedules:read and schedules:write"
  type        = string
  sensitive   = true
}

# The first way: the command does the work. `belfry` must be on the path of whoever applies. It plans
# by itself, so that Terraform need not know more than whether the file changed.
resource "terraform_data" "billing" {
  triggers_replace = filesha256("${path.module}/../schedules/billing.yaml")

  provisioner "local-exec" {
    command = "belfry apply --yes --prune -f ${path.module}/../schedules/billing.yaml"
    environment = {
      BELFRY_URL   = var.belfry_url
      BELFRY_TOKEN = var.belfry_token
    }
  }
}

# Drift by hand shows in every plan: the check warns, and `belfry apply` mends it.
data "external" "billing_drift" {
  program = ["sh", "-c", <<-EOT
    belfry plan --json -f ${path.module}/../schedules/billing.yaml > /dev/null
    printf '{"exit":"%s"}' "$?"
  EOT
  ]
}

check "billing_has_not_drifted" {
  assert {
    condition     = data.external.billing_drift.result.exit == "0"
    error_message = "the schedules of set billing are not as the file declares them"
  }
}

# The second way: the API itself, by the http provider. A data source is read at every plan and apply,
# so this declares the set each time, which changes nothing while nothing changed.
#
# data "http" "billing" {
#   url    = "${var.belfry_url}/api/v1/sets/billing"
#   method = "PUT"
#   request_headers = {
#     Authorization = "Bearer ${var.belfry_token}"
#     Content-Type  = "application/json"
#   }
#   request_body = jsonencode({
#     schedules = [{
#       schedule_id = "billing-nightly"
#       workflow_id = "invoices"
#       cron_expr   = "30 2 * * *"
#       timezone    = "Europe/Zurich"
#     }]
#   })
#   lifecycle {
#     postcondition {
#       condition = self.status_code == 200 && alltrue([
#         for schedule in jsondecode(self.response_body).schedules :
#         contains(["done", "nothing"], schedule.outcome)
#       ])
#       error_message = self.response_body
#     }
#   }
# }
