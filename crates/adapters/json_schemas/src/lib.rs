//! Checks replies against JSON Schemas, off the async threads.
//!
//! Schemas come from callers, and values from models, so both may be hostile. `ResponseSchema::fault` bounds the
//! work and the stack that a check needs; patterns run in linear time, and nothing is fetched.

mod check;

use std::{io, sync::Arc, task::Poll, time::Duration};

use async_trait::async_trait;
use cpu_pool::{CpuPool, PoolError};
use domain::{InputFault, ResponseSchema, TenantId};
use ports::{SchemaChecker, SchemaError};
use serde_json::Value;
use tokio::time::timeout;

/// The time limit of a check.
const MAX_TIME: Duration = Duration::from_secs(2);

/// Checks schemas and replies on threads of a pool.
#[derive(Debug)]
pub struct PooledSchemaChecker {
    pool: Arc<CpuPool>,
}

impl PooledSchemaChecker {
    /// Starts the threads.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            pool: CpuPool::start()?,
        })
    }

    /// Runs a check; `None` if it takes too long.
    async fn run<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        check: impl Fn() -> T + Send + 'static,
    ) -> Result<Option<T>, SchemaError> {
        let admission = self.pool.admit(tenant).await;
        let admission = Arc::new(admission.map_err(|_full| SchemaError::Overloaded)?);
        // A check that is given up counts as one of the tenant until its thread is free.
        let held = Arc::clone(&admission);
        let job = move |_slice| {
            let _held = &held;
            Poll::Ready(check())
        };
        match timeout(MAX_TIME, admission.run(job)).await {
            Ok(Ok(result)) => Ok(Some(result)),
            Ok(Err(PoolError::Overloaded)) => Err(SchemaError::Overloaded),
            Ok(Err(PoolError::Unfinished(error))) => {
                tracing::error!(%error, "a check of a schema did not finish");
                Ok(None)
            }
            Err(_late) => Ok(None),
        }
    }
}

#[async_trait]
impl SchemaChecker for PooledSchemaChecker {
    async fn check_schema(
        &self,
        tenant: &TenantId,
        schema: &ResponseSchema,
    ) -> Result<(), SchemaError> {
        let schema = schema.clone();
        let compiled = self.run(tenant, move || check::compile(&schema).is_ok());
        match compiled.await? {
            Some(true) => Ok(()),
            Some(false) | None => Err(SchemaError::Invalid),
        }
    }

    async fn check_output(
        &self,
        tenant: &TenantId,
        schema: &ResponseSchema,
        text: String,
    ) -> Result<Result<Value, Vec<InputFault>>, SchemaError> {
        let schema = schema.clone();
        let checked = self.run(tenant, move || check::check(&schema, &text));
        let late = || Err(vec![check::fault("", "takes too long to check")]);
        Ok(checked.await?.unwrap_or_else(late))
    }
}

#[cfg(test)]
mod tests;
