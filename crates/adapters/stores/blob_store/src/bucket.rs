//! Buckets of those services that this program was built with.

use std::{ffi::OsString, sync::Arc, time::Duration};

use object_store::{BackoffConfig, ClientConfigKey, ObjectStore, RetryConfig};

use crate::address::Service;

/// Settings of the HTTP client. The timeout of a whole request would end downloads of slow clients, so
/// only pauses are limited.
const CLIENT_SETTINGS: [(ClientConfigKey, &str); 4] = [
    (ClientConfigKey::UserAgent, "agent-service"),
    (ClientConfigKey::ConnectTimeout, "5 seconds"),
    (ClientConfigKey::ReadTimeout, "30 seconds"),
    (ClientConfigKey::Timeout, "1 hour"),
];

/// Repeats requests that failed, for less time than callers wait.
fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: 4,
        retry_timeout: Duration::from_secs(20),
    }
}

/// The bucket of a builder with its type of settings. Later settings replace earlier ones, and unknown
/// variables are those of other programs.
macro_rules! builder_with {
    ($builder:expr, $key:ty, $prefix:literal, $environment:expr) => {{
        let ours = CLIENT_SETTINGS
            .into_iter()
            .map(|(key, value)| (<$key>::Client(key), value.to_owned()));
        let theirs = $environment.into_iter().filter_map(|(name, value)| {
            let name = name.to_str().filter(|it| it.starts_with($prefix))?;
            let key = name.to_ascii_lowercase().parse::<$key>().ok()?;
            Some((key, value.into_string().ok()?))
        });
        let builder = ours.chain(theirs).fold($builder, |builder, (key, value)| {
            builder.with_config(key, value)
        });
        Ok(Arc::new(builder.with_retry(retries()).build()?))
    }};
}

/// Returns a bucket, without a connection.
pub(crate) fn of(
    service: Service,
    name: &str,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
    match service {
        #[cfg(feature = "s3")]
        Service::S3 => {
            use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
            let builder = AmazonS3Builder::new().with_bucket_name(name);
            builder_with!(builder, AmazonS3ConfigKey, "AWS_", environment)
        }
        #[cfg(feature = "gs")]
        Service::Google => {
            use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
            let builder = GoogleCloudStorageBuilder::new().with_bucket_name(name);
            builder_with!(builder, GoogleConfigKey, "GOOGLE_", environment)
        }
        #[cfg(feature = "az")]
        Service::Azure => {
            use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
            let builder = MicrosoftAzureBuilder::new().with_container_name(name);
            builder_with!(builder, AzureConfigKey, "AZURE_", environment)
        }
    }
}
