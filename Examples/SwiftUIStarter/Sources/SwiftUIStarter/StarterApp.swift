#if canImport(SwiftUI)
    import Scrollback
    import ScrollbackUI
    import SwiftUI

    // The views have no logic: they show properties of the models in ScrollbackUI, in the words of Words.swift.

    @main
    struct StarterApp: App {
        @State private var session = SessionModel.starter()

        var body: some Scene {
            WindowGroup {
                Group {
                    if let list = session.list {
                        ConversationListView(session: session, list: list)
                    } else {
                        SignInView(session: session)
                    }
                }
                #if os(macOS)
                    // An executable of a package has no bundle, so it does not become a regular app on its own.
                    .onAppear {
                        NSApplication.shared.setActivationPolicy(.regular)
                        NSApplication.shared.activate()
                    }
                #endif
            }
        }
    }

    struct SignInView: View {
        @Bindable var session: SessionModel

        var body: some View {
            Form {
                TextField("Server", text: $session.server)
                    .autocorrectionDisabled()
                    #if os(iOS)
                        .textInputAutocapitalization(.never)
                    #endif
                SecureField("Token", text: $session.token)
                Button("Sign in") { Task { await session.signIn() } }.disabled(!session.canSignIn)
            }
            .formStyle(.grouped)
            .showing($session.error)
        }
    }

    /// A button for a call of a model, which keeps the error of the call in its property `error`.
    struct CallButton: View {
        let title: String
        let image: String
        let call: @MainActor () async throws -> Void

        var body: some View {
            Button(title, systemImage: image) { Task { try? await call() } }
        }
    }

    extension View {
        /// Shows the error of a model until the user dismisses it.
        func showing(_ error: Binding<ChatError?>) -> some View {
            alert(isPresented: error.isShown, error: error.wrappedValue) { Button("OK") {} }
        }
    }
#endif
