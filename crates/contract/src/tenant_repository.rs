//! `TenantRepository`.

use domain::Seq;
use ports::{LogBounds, Storage};

use crate::{
    answers::{Answer as _, assert_conflict},
    samples,
};

/// A migrated store MUST hold the tenant `default`.
pub async fn a_migrated_store_holds_the_default_tenant(storage: &Storage) {
    let tenants = storage.tenants.list().await.answered();
    let ids: Vec<_> = tenants.iter().map(|tenant| tenant.id.as_str()).collect();
    assert_eq!(ids, ["default"]);
    let bounds = storage.events.bounds(&samples::tenant()).await.answered();
    assert_eq!(bounds, LogBounds::new(Seq(1), Seq(0)));
}

/// `insert` makes a tenant with an empty log.
pub async fn makes_a_tenant_with_an_empty_log(storage: &Storage) {
    let tenant = samples::tenant_named("shop-1");
    let answer = storage.tenants.insert(&tenant, samples::at(7)).await;
    answer.answered();
    let tenants = storage.tenants.list().await.answered();
    let made = tenants.iter().find(|made| made.id == tenant);
    assert_eq!(made.map(|made| made.created_at), Some(samples::at(7)));
    let bounds = storage.events.bounds(&tenant).await.answered();
    assert_eq!(bounds, LogBounds::new(Seq(1), Seq(0)));
}

/// `insert` MUST answer `Conflict` when it exists.
pub async fn refuses_a_duplicate_tenant(storage: &Storage) {
    let tenant = samples::tenant_named("shop-1");
    let answer = storage.tenants.insert(&tenant, samples::at(7)).await;
    answer.answered();
    assert_conflict(&storage.tenants.insert(&tenant, samples::at(8)).await);
    let tenants = storage.tenants.list().await.answered();
    assert_eq!(tenants.len(), 2);
    let kept = tenants.iter().find(|kept| kept.id == tenant);
    assert_eq!(kept.map(|kept| kept.created_at), Some(samples::at(7)));
}

/// `exists` is true of the tenants that were made, and of the first one.
pub async fn tells_whether_a_tenant_exists(storage: &Storage) {
    let exists = async |name| {
        let tenant = samples::tenant_named(name);
        storage.tenants.exists(&tenant).await.answered()
    };
    assert!(exists("default").await);
    assert!(!exists("shop-1").await);
    let tenant = samples::tenant_named("shop-1");
    let answer = storage.tenants.insert(&tenant, samples::at(7)).await;
    answer.answered();
    assert!(exists("shop-1").await);
    for other in ["shop", "shop-10", "shop-2"] {
        assert!(!exists(other).await, "{other}");
    }
}

/// `list` is by id, compared by code point.
pub async fn lists_tenants_by_id(storage: &Storage) {
    for name in ["zoo", "a1", "ab", "a-b", "0"] {
        let tenant = samples::tenant_named(name);
        let answer = storage.tenants.insert(&tenant, samples::at(0)).await;
        answer.answered();
    }
    let tenants = storage.tenants.list().await.answered();
    let ids: Vec<_> = tenants.iter().map(|tenant| tenant.id.as_str()).collect();
    assert_eq!(ids, ["0", "a-b", "a1", "ab", "default", "zoo"]);
}
