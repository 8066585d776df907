import { Component, type ReactNode } from "react";
import { ErrorNotice } from "./notice.js";

interface State {
  error?: unknown;
}

interface ErrorBoundaryProps {
  children: ReactNode;
  /** Replaces what could not be drawn; the error by default. */
  fallback?: ReactNode;
}

/** Shows the error of a page that could not be drawn; the navigation around it keeps working. */
export class ErrorBoundary extends Component<ErrorBoundaryProps, State> {
  override state: State = {};

  static getDerivedStateFromError(error: unknown): State {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    const { children, fallback } = this.props;
    if (error === undefined) return children;
    return fallback ?? <ErrorNotice error={error} onRetry={() => this.setState({ error: undefined })} />;
  }
}
