mod discovery;
mod issuers;
mod key_sets;
mod permissions;
mod tenants;
mod trust;
