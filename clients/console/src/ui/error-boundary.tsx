import { Component, type ReactNode } from "react";
import { ErrorNotice } from "./notice.js";

interface State {
  error?: unknown;
}

/** Shows the error of a page that could not be drawn; the navigation around it keeps working. */
export class ErrorBoundary extends Component<{ children: ReactNode }, State> {
  override state: State = {};

  static getDerivedStateFromError(error: unknown): State {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    return error === undefined ? this.props.children : <ErrorNotice error={error} onRetry={() => this.setState({ error: undefined })} />;
  }
}
