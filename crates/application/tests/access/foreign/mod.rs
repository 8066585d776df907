mod discovery;
mod issuers;
mod key_sets;
mod permissions;
mod tenants;
mod tenants_in_memory;
mod trust;
