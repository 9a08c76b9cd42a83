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

    func appearance(chat: Conversation) async throws {
        var options = PushOptions(title: "Tides", text: "High water at 07:10", data: "stations/7")
        options.ios = PushOptions.IOS()
        options.ios?.threadID = "tides"
        options.ios?.interruption = .timeSensitive
        options.android = PushOptions.Android()
        options.android?.notificationID = "station 7"  // Replaces the station's previous notification.
        try await chat.send(.text("high water at 07:10"), push: options)
    }

    /// The example of Documentation/push-options.md.
    func everyOption(chat: Conversation, image: URL) async throws -> PushOptions {
        var ios = PushOptions.IOS()
        ios.threadID = "orders"
        ios.collapseID = "order-17"
        ios.imageURL = image
        ios.interruption = .timeSensitive

        var huawei = PushOptions.Android.Huawei()
        huawei.channel = "orders"
        huawei.imageURL = image
        huawei.category = "EXPRESS"
        huawei.importance = .normal
        var honor = PushOptions.Android.Honor()
        honor.imageURL = image
        honor.importance = .normal
        var fcm = PushOptions.Android.FCM()
        fcm.collapseKey = "orders"
        fcm.imageURL = image
        fcm.channel = "orders"

        var android = PushOptions.Android()
        android.notificationID = "17"
        android.xiaomi = PushOptions.Android.Channel(channel: "134567")
        android.huawei = huawei
        android.honor = honor
        android.oppo = PushOptions.Android.Channel(channel: "orders")
        android.vivo = PushOptions.Android.Vivo(type: .system, category: "IM")
        android.fcm = fcm

        var harmony = PushOptions.Harmony()
        harmony.imageURL = image
        harmony.category = "EXPRESS"

        var options = PushOptions(title: "Order 17", text: "Your order is on its way", data: "orders/17")
        options.templateID = "order-update"
        options.hidesTitle = true
        options.forcesDetail = true
        options.ios = ios
        options.android = android
        options.harmony = harmony
        try await chat.send(.text("The parcel has left the warehouse."), push: options)
        return options
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

    @Test("The example with every push option is the same in Swift and in JSON")
    func everyOptionInBothForms() async throws {
        let stage = try await Stage()
        try await appearance(chat: stage.chat)
        let image = try #require(URL(string: "https://shop.example/17.png"))
        let options = try await everyOption(chat: stage.chat, image: image)
        let package = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let page = try String(contentsOf: package.appending(path: "Documentation/push-options.md"), encoding: .utf8)
        let section = try #require(page.components(separatedBy: "\n### HTTP\n").dropFirst().first)
        let block = try #require(section.components(separatedBy: "```json\n").dropFirst().first)
        let json = try #require(block.components(separatedBy: "\n```").first)
        struct Example: Decodable { var push: PushOptions }
        #expect(try JSONDecoder().decode(Example.self, from: Data(json.utf8)).push == options)
        await stage.server.close()
    }
}
