//! Cron expressions as people mean them.
