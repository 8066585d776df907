//! The commands on keys and clients, which work directly on the store.

use access::{CredentialError, CredentialService, IssuedCredential, Rotation, operator};
use anyhow::{Error, Result, anyhow, bail};
use application::PAGE_LIMIT;
use domain::{
    AgentReach, Credential, CredentialDraft, CredentialId, CredentialKind, CredentialSecret,
    InputFault, TenantId, credential_secret::RANDOM_BYTES,
};
use tokio_util::task::TaskTracker;
use writes::{WriteTimeouts, Writes};

use super::{
    print_line,
    store::{self, IfStoreMissing},
};
use crate::{
    cli::{ClientsCommand, CredentialOptions, KeysCommand, NewCredentialOptions, RotationOptions},
    settings::{Settings, SettingsError},
    wiring::{self, Store},
};

/// An operation on the keys, or the clients, of a store.
enum Task {
    Create(NewCredentialOptions, Option<String>),
    List(TenantId),
    Rotate(RotationOptions),
    Revoke(CredentialOptions),
}

/// Executes a command on keys.
pub(super) async fn keys(
    settings: Result<Settings, SettingsError>,
    command: KeysCommand,
) -> Result<()> {
    let task = match command {
        KeysCommand::Create(options) => Task::Create(options, None),
        KeysCommand::List(tenant) => Task::List(tenant.tenant),
        KeysCommand::Rotate(options) => Task::Rotate(options),
        KeysCommand::Revoke(options) => Task::Revoke(options),
        // This command helps to write the settings, so it does not need valid ones.
        KeysCommand::Generate => return generate_key(),
    };
    execute(&settings?, CredentialKind::Key, task).await
}

/// Executes a command on OAuth clients.
pub(super) async fn clients(settings: &Settings, command: ClientsCommand) -> Result<()> {
    let task = match command {
        ClientsCommand::Create(options) => Task::Create(options.credential, options.jwks_uri),
        ClientsCommand::List(tenant) => Task::List(tenant.tenant),
        ClientsCommand::Rotate(options) => Task::Rotate(options),
        ClientsCommand::Revoke(options) => Task::Revoke(options),
    };
    execute(settings, CredentialKind::Client, task).await
}

/// Prints a new key that is in no store.
fn generate_key() -> Result<()> {
    let (_, ids) = wiring::system();
    let mut random = [0; RANDOM_BYTES];
    ids.fill_random(&mut random);
    print_line(CredentialSecret::mint(CredentialKind::Key, &random).reveal())
}

async fn execute(settings: &Settings, kind: CredentialKind, task: Task) -> Result<()> {
    let if_missing = match task {
        Task::Create(..) => IfStoreMissing::Create,
        Task::List(_) | Task::Rotate(_) | Task::Revoke(_) => IfStoreMissing::Fail,
    };
    let tasks = TaskTracker::new();
    let store = store::open(settings, if_missing, &tasks).await?;
    let commands = CredentialCommands::new(settings, store, kind, &tasks);
    let outcome = match task {
        Task::Create(options, jwks_uri) => commands.create(options, jwks_uri).await,
        Task::List(tenant) => commands.list(tenant).await,
        Task::Rotate(options) => commands.rotate(options).await,
        Task::Revoke(options) => commands.revoke(options).await,
    };
    commands.writes.close().await;
    commands.store.close().await;
    outcome
}

/// Executes operations on the keys, or the clients, of a store.
struct CredentialCommands {
    store: Store,
    writes: Writes,
    service: CredentialService,
    kind: CredentialKind,
}

impl CredentialCommands {
    fn new(settings: &Settings, store: Store, kind: CredentialKind, tasks: &TaskTracker) -> Self {
        let (clock, ids) = wiring::system();
        let max_name_characters = settings.limits.sizes.name_characters;
        let storage = store.storage();
        let (credentials, idempotency) = (storage.credentials, storage.idempotency);
        let writes = Writes::start(storage.writes, WriteTimeouts::default(), tasks);
        let service = CredentialService::new(
            credentials,
            writes.clone(),
            idempotency,
            clock,
            ids,
            wiring::document_source(settings),
            max_name_characters,
        );
        Self {
            store,
            writes,
            service,
            kind,
        }
    }

    async fn create(&self, options: NewCredentialOptions, jwks_uri: Option<String>) -> Result<()> {
        let tenant = self.existing_tenant(options.tenant.tenant).await?;
        let draft = CredentialDraft {
            expires_at: options.expires_at,
            agents: match options.agent_ids {
                ids if ids.is_empty() => AgentReach::ALL,
                ids => AgentReach::only(ids),
            },
            limits: options.limits.into(),
            jwks_uri,
            ..CredentialDraft::new(options.name, options.scopes.into_iter().collect())
        };
        let created = self
            .service
            .create(&operator(tenant), self.kind, draft, None)
            .await;
        self.show(&created.map_err(describe_error)?.value)
    }

    async fn list(&self, tenant: TenantId) -> Result<()> {
        let operator = operator(self.existing_tenant(tenant).await?);
        let mut cursor = None;
        loop {
            let (page, next) = self
                .service
                .list(&operator, self.kind, cursor.as_deref(), PAGE_LIMIT)
                .await?;
            for credential in &page.items {
                print_line(&line(credential))?;
            }
            if next.is_none() {
                return Ok(());
            }
            cursor = next;
        }
    }

    async fn rotate(&self, options: RotationOptions) -> Result<()> {
        let CredentialOptions { id, tenant } = options.credential;
        let rotation = Rotation {
            overlap_seconds: (options.overlap_seconds > 0).then_some(options.overlap_seconds),
            jwks: None,
        };
        let operator = operator(tenant.tenant);
        let rotated = self
            .service
            .rotate(&operator, self.kind, &id, rotation, None)
            .await;
        let rotated = rotated.map_err(|error| describe_error_about(&id, &operator.tenant, error));
        self.show(&rotated?.value)
    }

    async fn revoke(&self, options: CredentialOptions) -> Result<()> {
        let CredentialOptions { id, tenant } = options;
        let operator = operator(tenant.tenant);
        let revoked = self.service.revoke(&operator, self.kind, &id).await;
        revoked.map_err(|error| describe_error_about(&id, &operator.tenant, error))
    }

    /// Checks that a tenant exists; otherwise a mistyped tenant would look like an empty one.
    async fn existing_tenant(&self, tenant: TenantId) -> Result<TenantId> {
        if self.store.storage().tenants.exists(&tenant).await? {
            return Ok(tenant);
        }
        bail!("tenant '{tenant}' does not exist; `agent-service tenants list` lists all tenants")
    }

    /// Prints a new secret. A key contains its id; for a client, prints its id and, if it has one,
    /// its secret.
    fn show(&self, minted: &IssuedCredential) -> Result<()> {
        let id = &minted.credential.id;
        match (self.kind, &minted.secret) {
            (CredentialKind::Key, Some(secret)) => print_line(secret.reveal()),
            (_, Some(secret)) => print_line(&format!("{id} {}", secret.reveal())),
            (_, None) => print_line(id.as_str()),
        }
    }
}

/// Returns the line for a credential in a listing. Its name cannot break the line.
fn line(credential: &Credential) -> String {
    let state = match (credential.revoked_at, credential.expires_at) {
        (Some(at), _) => format!("revoked {at}"),
        (None, Some(at)) => format!("expires {at}"),
        (None, None) => "valid".to_owned(),
    };
    let proof = match credential.last4() {
        Some(last4) => format!("…{last4}"),
        None => "signs".to_owned(),
    };
    let name = credential.name.replace(char::is_control, " ");
    let scopes = credential.scopes.joined(",");
    format!("{}  {proof}  {state}  {name}  {scopes}", credential.id)
}

/// Describes an error about a credential of a tenant. If it does not exist, it may belong to
/// another tenant.
fn describe_error_about(id: &CredentialId, tenant: &TenantId, error: CredentialError) -> Error {
    match error {
        CredentialError::NotFound(kind) => anyhow!(
            "tenant {tenant} has no {} {id}; select another tenant with --tenant",
            kind.as_str()
        ),
        other => describe_error(other).context(format!("{id} of tenant {tenant}")),
    }
}

/// Describes an error with all faults, by the names of the options.
fn describe_error(error: CredentialError) -> Error {
    let CredentialError::Invalid(faults) = error else {
        return error.into();
    };
    let describe =
        |fault: &InputFault| format!("{} {}", fault.pointer.trim_start_matches('/'), fault.detail);
    let faults: Vec<String> = faults.iter().map(describe).collect();
    Error::msg(faults.join("; "))
}
