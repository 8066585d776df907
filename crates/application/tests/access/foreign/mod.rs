mod discovery;
mod issuers;
mod key_sets;
mod permissions;
mod remembered;
mod tenants;
mod tenants_in_memory;
mod trust;
