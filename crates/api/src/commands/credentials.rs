//! What the commands on keys and clients do, on the store itself.

use anyhow::{Error, Result, anyhow, bail};
use application::{
    CredentialService, PAGE_LIMIT,
    access::{CredentialError, MintedCredential, Rotation, operator},
};
use domain::{
    Credential, CredentialDraft, CredentialId, CredentialKind, CredentialSecret, Fault, TenantId,
    credential_secret::RANDOM_BYTES,
};
use tokio_util::task::TaskTracker;

use super::{
    print_line,
    store::{self, WhereNoneIs},
};
use crate::{
    cli::{ClientsCommand, CredentialOptions, KeysCommand, NewCredentialOptions, RotationOptions},
    settings::{Settings, SettingsError},
    wiring::{self, Store},
};

/// What is done with the keys, or the clients, of a store.
enum Task {
    Create(NewCredentialOptions, Option<String>),
    List(TenantId),
    Rotate(RotationOptions),
    Revoke(CredentialOptions),
}

/// Carries out a command on keys.
pub(super) async fn keys(
    settings: Result<Settings, SettingsError>,
    command: KeysCommand,
) -> Result<()> {
    let task = match command {
        KeysCommand::Create(options) => Task::Create(options, None),
        KeysCommand::List(tenant) => Task::List(tenant.tenant),
        KeysCommand::Rotate(options) => Task::Rotate(options),
        KeysCommand::Revoke(options) => Task::Revoke(options),
        // It helps to write the settings.
        KeysCommand::Generate => return generate_key(),
    };
    carry_out(&settings?, CredentialKind::Key, task).await
}

/// Carries out a command on OAuth clients.
pub(super) async fn clients(settings: &Settings, command: ClientsCommand) -> Result<()> {
    let task = match command {
        ClientsCommand::Create(options) => Task::Create(options.credential, options.jwks_uri),
        ClientsCommand::List(tenant) => Task::List(tenant.tenant),
        ClientsCommand::Rotate(options) => Task::Rotate(options),
        ClientsCommand::Revoke(options) => Task::Revoke(options),
    };
    carry_out(settings, CredentialKind::Client, task).await
}

/// Prints a key that no store knows.
fn generate_key() -> Result<()> {
    let (_, ids) = wiring::system();
    let mut random = [0; RANDOM_BYTES];
    ids.fill_random(&mut random);
    print_line(CredentialSecret::mint(CredentialKind::Key, &random).reveal())
}

async fn carry_out(settings: &Settings, kind: CredentialKind, task: Task) -> Result<()> {
    let where_none_is = match task {
        Task::Create(..) => WhereNoneIs::Make,
        Task::List(_) | Task::Rotate(_) | Task::Revoke(_) => WhereNoneIs::Fail,
    };
    let store = store::open(settings, where_none_is, &TaskTracker::new()).await?;
    let desk = Desk::new(settings, store, kind);
    let outcome = match task {
        Task::Create(options, jwks_uri) => desk.create(options, jwks_uri).await,
        Task::List(tenant) => desk.list(tenant).await,
        Task::Rotate(options) => desk.rotate(options).await,
        Task::Revoke(options) => desk.revoke(options).await,
    };
    desk.store.close().await;
    outcome
}

/// Where the operator hands out keys, or clients, of a store.
struct Desk {
    store: Store,
    service: CredentialService,
    kind: CredentialKind,
}

impl Desk {
    fn new(settings: &Settings, store: Store, kind: CredentialKind) -> Self {
        let (clock, ids) = wiring::system();
        let most = settings.limits.sizes.name_characters;
        let storage = store.storage();
        let (credentials, claims) = (storage.credentials, storage.claims);
        let service = CredentialService::new(credentials, claims, clock, ids, most);
        Self {
            store,
            service,
            kind,
        }
    }

    async fn create(&self, options: NewCredentialOptions, jwks_uri: Option<String>) -> Result<()> {
        let tenant = self.known(options.tenant.tenant).await?;
        let draft = CredentialDraft {
            expires_at: options.expires_at,
            jwks_uri,
            ..CredentialDraft::new(options.name, options.scopes.into_iter().collect())
        };
        let made = self
            .service
            .create(&operator(tenant), self.kind, draft, None)
            .await;
        self.show(&made.map_err(told)?.value)
    }

    async fn list(&self, tenant: TenantId) -> Result<()> {
        let operator = operator(self.known(tenant).await?);
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
        let rotated = rotated.map_err(|error| told_of(&id, &operator.tenant, error));
        self.show(&rotated?.value)
    }

    async fn revoke(&self, options: CredentialOptions) -> Result<()> {
        let CredentialOptions { id, tenant } = options;
        let operator = operator(tenant.tenant);
        let revoked = self.service.revoke(&operator, self.kind, &id).await;
        revoked.map_err(|error| told_of(&id, &operator.tenant, error))
    }

    /// A mistyped tenant would otherwise look like one that has nothing.
    async fn known(&self, tenant: TenantId) -> Result<TenantId> {
        if self.store.storage().tenants.exists(&tenant).await? {
            return Ok(tenant);
        }
        bail!("there is no tenant '{tenant}': `agent-service tenants list` shows them")
    }

    /// A key says its own id; a client is told its id and, if it has one, its secret.
    fn show(&self, minted: &MintedCredential) -> Result<()> {
        let id = &minted.credential.id;
        match (self.kind, &minted.secret) {
            (CredentialKind::Key, Some(secret)) => print_line(secret.reveal()),
            (_, Some(secret)) => print_line(&format!("{id} {}", secret.reveal())),
            (_, None) => print_line(id.as_str()),
        }
    }
}

/// What there is to say of a credential, on one line whatever its name.
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

/// The error about one of a tenant. What is not in this tenant may be in another.
fn told_of(id: &CredentialId, tenant: &TenantId, error: CredentialError) -> Error {
    match error {
        CredentialError::NotFound(kind) => anyhow!(
            "there is no {} {id} in tenant {tenant}: with --tenant another one is looked into",
            kind.as_str()
        ),
        other => told(other).context(format!("{id} of tenant {tenant}")),
    }
}

/// The error with all that is wrong, by the names of the options.
fn told(error: CredentialError) -> Error {
    let CredentialError::Invalid(faults) = error else {
        return error.into();
    };
    let told =
        |fault: &Fault| format!("{} {}", fault.pointer.trim_start_matches('/'), fault.detail);
    let faults: Vec<String> = faults.iter().map(told).collect();
    Error::msg(faults.join("; "))
}
