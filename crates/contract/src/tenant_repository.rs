//! `TenantRepository`.

use domain::Seq;
use ports::LogBounds;

use crate::{
    Store, fixture,
    results::{ResultExt as _, assert_conflict},
};

/// A migrated store MUST contain the tenant `default`.
pub async fn a_migrated_store_has_the_default_tenant(storage: &Store) {
    let tenants = storage.tenants.list().await.success();
    let ids: Vec<_> = tenants.iter().map(|tenant| tenant.id.as_str()).collect();
    assert_eq!(ids, ["default"]);
    let bounds = storage.events.bounds(&fixture::tenant()).await.success();
    assert_eq!(bounds, LogBounds::new(Seq(1), Seq(0)));
}

/// `insert` creates a tenant with an empty log.
pub async fn a_new_tenant_has_an_empty_log(storage: &Store) {
    let tenant = fixture::tenant_named("shop-1");
    let result = storage.tenants.insert(&tenant, fixture::at(7)).await;
    result.success();
    let tenants = storage.tenants.list().await.success();
    let made = tenants.iter().find(|made| made.id == tenant);
    assert_eq!(made.map(|made| made.created_at), Some(fixture::at(7)));
    let bounds = storage.events.bounds(&tenant).await.success();
    assert_eq!(bounds, LogBounds::new(Seq(1), Seq(0)));
}

/// `insert` MUST return `Conflict` if the tenant exists.
pub async fn a_duplicate_tenant_is_a_conflict(storage: &Store) {
    let tenant = fixture::tenant_named("shop-1");
    let result = storage.tenants.insert(&tenant, fixture::at(7)).await;
    result.success();
    assert_conflict(&storage.tenants.insert(&tenant, fixture::at(8)).await);
    let tenants = storage.tenants.list().await.success();
    assert_eq!(tenants.len(), 2);
    let kept = tenants.iter().find(|kept| kept.id == tenant);
    assert_eq!(kept.map(|kept| kept.created_at), Some(fixture::at(7)));
}

/// `exists` returns `true` for created tenants and for the first one.
pub async fn only_created_tenants_exist(storage: &Store) {
    let exists = async |name| {
        let tenant = fixture::tenant_named(name);
        storage.tenants.exists(&tenant).await.success()
    };
    assert!(exists("default").await);
    assert!(!exists("shop-1").await);
    let tenant = fixture::tenant_named("shop-1");
    let result = storage.tenants.insert(&tenant, fixture::at(7)).await;
    result.success();
    assert!(exists("shop-1").await);
    for other in ["shop", "shop-10", "shop-2"] {
        assert!(!exists(other).await, "{other}");
    }
}

/// `list` is ordered by id, by code point.
pub async fn tenants_are_listed_by_id(storage: &Store) {
    for name in ["zoo", "a1", "ab", "a-b", "0"] {
        let tenant = fixture::tenant_named(name);
        let result = storage.tenants.insert(&tenant, fixture::at(0)).await;
        result.success();
    }
    let tenants = storage.tenants.list().await.success();
    let ids: Vec<_> = tenants.iter().map(|tenant| tenant.id.as_str()).collect();
    assert_eq!(ids, ["0", "a-b", "a1", "ab", "default", "zoo"]);
}
