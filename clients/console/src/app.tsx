import { Redirect, Route, Switch } from "wouter";
import { ActivityPage } from "./activity/page.js";
import { AgentPage, NewAgentPage } from "./agents/editor.js";
import { AgentsPage } from "./agents/list.js";
import { ApprovalsPage } from "./approvals/page.js";
import { NewChatPage } from "./chat/new-chat.js";
import { ChatPage } from "./chat/page.js";
import { ConversationPage } from "./conversations/detail.js";
import { ConversationsPage } from "./conversations/list.js";
import { CredentialsPage } from "./credentials/page.js";
import { FeedbackPage } from "./feedback/page.js";
import { HealthPage } from "./health/page.js";
import { LiveQueries } from "./live-queries.js";
import { basePath } from "./location.js";
import { AccountPage } from "./session/account.js";
import { useSessions } from "./session/session.js";
import { SignIn } from "./session/sign-in.js";
import { Shell } from "./shell.js";
import { Empty } from "./ui/notice.js";
import { PageHeader } from "./ui/page-header.js";
import { PageRouter } from "./unsaved.js";

/** Returns a segment of a path as text; unchanged if it is not valid. */
const decoded = (segment: string): string => {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
};

const Pages = () => (
  <Switch>
    <Route path="/">
      <Redirect to="/agents" replace />
    </Route>
    <Route path="/agents" component={AgentsPage} />
    <Route path="/agents/new" component={NewAgentPage} />
    <Route path="/agents/:id">{({ id }) => <AgentPage key={id} id={decoded(id)} />}</Route>
    <Route path="/chat" component={NewChatPage} />
    <Route path="/chat/:agentId/:key">
      {({ agentId, key }) => <ChatPage key={`${agentId} ${key}`} agentId={decoded(agentId)} chatKey={decoded(key)} />}
    </Route>
    <Route path="/conversations" component={ConversationsPage} />
    <Route path="/conversations/:id">{({ id }) => <ConversationPage key={id} id={decoded(id)} />}</Route>
    <Route path="/feedback" component={FeedbackPage} />
    <Route path="/approvals" component={ApprovalsPage} />
    <Route path="/activity" component={ActivityPage} />
    <Route path="/access" component={CredentialsPage} />
    <Route path="/health" component={HealthPage} />
    <Route path="/account" component={AccountPage} />
    <Route>
      <PageHeader title="Not found" />
      <Empty title="This page does not exist">Choose another one in the navigation.</Empty>
    </Route>
  </Switch>
);

/** The pages. They stay as they are, out of sight, while the user has to sign in again. */
export const App = () => {
  const { session, isAsking } = useSessions();
  return (
    <>
      {isAsking && <SignIn />}
      {session !== undefined && (
        <div hidden={isAsking} key={session.principal.tenantId}>
          <PageRouter base={basePath}>
            <Shell>
              <Pages />
            </Shell>
            <LiveQueries />
          </PageRouter>
        </div>
      )}
    </>
  );
};
