import Foundation
import Scrollback
import ScrollbackTesting
import Testing

#if canImport(UserNotifications)
    import UserNotifications

    final class NotificationService: UNNotificationServiceExtension {
        override func didReceive(
            _ request: UNNotificationRequest, withContentHandler show: @escaping (UNNotificationContent) -> Void
        ) {
            if let push = try? PushMessage(request.content.userInfo) { try? sharedInbox.put(push) }
            show(request.content)
        }
    }
#endif

/// Stands for a folder in the container of an app group.
private let sharedFolder = FileManager.default.temporaryDirectory.appending(path: "pushes-\(UUID().uuidString)")
private let sharedInbox = PushInbox(directory: sharedFolder)

/// The examples of the article on push notifications.
@Suite("Examples: push notifications")
struct PushSnippets {
    /// The part of an app that handles push notifications.
    struct App {
        let client: ChatClient
        let isDebugBuild = true
        let open: (Conversation, MessageID) -> Void

        func registered(with token: Data) async throws {
            try await client.push.register(.apns(token, isDevelopment: isDebugBuild))
        }

        func tapped(_ userInfo: [AnyHashable: Any]) throws {
            guard let target = try client.destination(of: userInfo) else { return }  // Not a Scrollback push.
            open(client.conversation(target.conversation), target.message)
        }
    }

    func addresses(client: ChatClient, token: String, endpoint: URL, key: String, secret: String) async throws {
        try await client.push.register(.fcm(token))
        try await client.push.register(.token(token, of: .huawei))
        try await client.push.register(.web(endpoint: endpoint, keys: WebPushKeys(p256dh: key, auth: secret)))
    }

    func states(of client: ChatClient, show: Show<String>) async {
        for await state in client.push.states {
            switch state {
            case .off: show("push is off")
            case .waiting: show("registration is pending")
            case .registered: show("push is on")
            case .refused(let error): show(error.message)
            }
        }
    }

    func signOut(_ client: ChatClient, unregisterFromSystem: () -> Void) async throws {
        let report = try await client.signOut(erasing: true)
        if report.pushError != nil {
            unregisterFromSystem()  // For example with unregisterForRemoteNotifications().
        }
    }

    func preferences(of client: ChatClient) async throws {
        var preferences = try await client.push.preferences()
        preferences.language = "pt-BR"
        preferences.showsDetail = false  // Pushes show only "New message".
        preferences.quietHours = try QuietHours(from: .init(hour: 22), to: .init(hour: 7), allowsMentions: true)
        try await client.push.setPreferences(preferences)
    }

    func open(_ configuration: ChatClient.Configuration) async throws -> ChatClient {
        var configuration = configuration
        configuration.pushInbox = PushInbox(directory: sharedFolder)
        let client = try await ChatClient.open(configuration)
        return client
    }

    func recalled(client: ChatClient, removeNotification: (MessageID) -> Void) async throws {
        for push in try await client.push.readInbox().messages where push.kind == .recall {
            removeNotification(push.target.message)
        }
    }

    @Test("A registered device gets pushes, a tap opens the message, and signing out stops pushes")
    func pushes() async throws {
        let stage = try await Stage()
        try await stage.server.setPush(true)
        let (opened, open) = AsyncStream.makeStream(of: MessageID.self)
        let app = App(client: stage.bob) { open.yield($1) }
        try await addresses(
            client: stage.bob, token: "t", endpoint: #require(URL(string: "https://push.example/1")), key: "k",
            secret: "s")
        try await app.registered(with: Data([1, 2, 3]))
        let (received, tell) = AsyncStream.makeStream(of: String.self)
        let screen = Task { await states(of: stage.bob) { tell.yield($0) } }
        for await text in received where text == "push is on" { break }
        stage.server.goOffline("bob")
        let sent = try await stage.chat.send(.text("hello")).waitUntilSent()
        let push = try #require(try await stage.server.pushes(to: "bob").first)
        #expect(push.device.token == "010203" && push.device.isDevelopment)
        let payload = try JSONSerialization.jsonObject(with: Data(push.payload.utf8)) as? [AnyHashable: Any]
        try app.tapped(try #require(payload))
        for await message in opened {
            #expect(message == sent.id)
            break
        }
        var isGivenUp = false
        try await signOut(stage.bob) { isGivenUp = true }
        #expect(isGivenUp)
        await stage.server.close()
        await screen.value
    }

    @Test("Preferences apply to all devices, and the inbox returns recalled messages")
    func prefers() async throws {
        let server = try TestServer(users: ["bob"])
        let bob = try await server.client("bob") { $0.pushInbox = sharedInbox }
        try await preferences(of: bob)
        let kept = try await server.client("bob").push.preferences()
        #expect(kept.language == "pt-BR" && !kept.showsDetail && kept.quietHours?.allowsMentions == true)
        let message = try MessageID("01980000-0000-7000-8000-000000000001")
        let target = PushTarget(
            conversation: .direct("alice"), seq: 1, epoch: nil, message: message, sender: "alice", type: .text,
            receiver: "bob")
        try sharedInbox.put(PushMessage(target: target, kind: .recall))
        var removed: [MessageID] = []
        try await recalled(client: bob) { removed.append($0) }
        #expect(removed == [message])
        await server.close()
    }
}
