//! Test fixtures.

use domain::{PrincipalId, QuotaHolder, TenantId};

/// A principal of the default tenant.
pub(crate) fn holder(name: &str) -> QuotaHolder {
    QuotaHolder {
        tenant: TenantId::DEFAULT.parse().unwrap(),
        principal: PrincipalId::new(name),
    }
}
