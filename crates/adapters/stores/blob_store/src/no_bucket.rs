//! A program that was built without any service.

use std::{ffi::OsString, sync::Arc};

use object_store::ObjectStore;

use crate::address::Service;

pub(crate) fn of(
    service: Service,
    _name: &str,
    _environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
    match service {}
}
