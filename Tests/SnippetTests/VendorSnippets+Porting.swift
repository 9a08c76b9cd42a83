import Foundation
import Scrollback
import ScrollbackTesting
import Testing

// The examples of the vendors' guides about connecting, receiving, groups, push notifications and each vendor's own
// features. VendorSnippets.swift has the examples about history, counts and sending.

extension RongCloudSnippets {
    func connect(server: URL, folder: URL, show: Show<String>) async throws {
        // initWithAppKey and connectWithToken
        let client = try await ChatClient.open(
            .init(server: server, user: "alice", store: .directory(folder)) {
                try await backend.chatToken()  // Called for each connection, also after tokenIncorrect.
            })
        client.connect()  // Returns immediately. The local data is available from here on, as after dbOpened.
        // onConnectionStatusChanged:
        for await state in client.connection {
            switch state {
            case .online: show("connected")
            case .rejected(let error) where error.code == .closed: show("this device ID is connected elsewhere")
            case .rejected(let error): show("sign in again: \(error.message)")
            default: show("connecting")
            }
        }
    }

    func receive(client: ChatClient, show: Show<String>) async {
        for await event in client.events {
            switch event {
            case .message(let message): show("\(message.conversation): \(message.text ?? "")")  // onReceived
            case .changed(let message) where message.isDeleted: show("\(message.id) was recalled")  // messageDidRecall
            case .changed(let message): show("\(message.id) was edited, or its expansion changed")
            case .transient(let message): show("command: \(message.content.command?.name ?? "")")  // RCCommandMessage
            case .read(let id, let user, let seq): show("\(user) has read \(id) up to \(seq)")
            default: break
            }
        }
    }

    func images(client: ChatClient, chat: Conversation, photo: URL, show: Show<String>) async throws {
        // sendMediaMessage with an RCImageMessage
        let sending = try await chat.send(.image(.file(photo)))
        for await state in sending.states {
            switch state {
            case .uploading(let fraction): show("progress: \(Int(fraction * 100))")
            case .sent(let message): show("success: \(message.id)")
            case .failed(let error): show("error: \(error.code)")
            default: break
            }
        }
        // downloadMediaMessage, and the thumbnail
        guard let media = try await chat.message(sending.id).content?.media else { return }
        if let small = try await client.media.thumbnail(for: media) { show(small.path) }
        show(try await client.media.file(for: media).path)
    }

    /// A message type of the app.
    struct Gift: CustomContent {
        static let type: MessageType = "app:gift"  // getObjectName
        static let traits = MessageTraits(countsUnread: false)  // persistentFlag: stored, and not counted
        var text: String  // Shown by apps that don't know the type, and found by search.
        var amount: Int
    }

    func gift(chat: Conversation, message: Message, show: Show<String>) async throws {
        try await chat.send(Gift(text: "A gift", amount: 3))
        if let gift = try message.content?.custom(Gift.self) { show("\(gift.amount)") }
    }

    func channels(client: ChatClient, show: Show<String>) async throws {
        // getConversationListForAllChannel
        let city = client.conversation(.community("city"))
        for channel in try await city.channels().channels {
            show("\(channel.name ?? channel.conversation.description): \(channel.unread)")
        }
        // getUltraGroupUnreadCount
        let list = try await client.recents.view(limit: 1000, matching: RecentsFilter(kinds: [.community]))
        let unread = list.conversations.filter { $0.id.community == .community("city") }.map(\.unread).reduce(0, +)
        show("\(unread) in all channels")
    }

    func expand(chat: Conversation, message: Message, show: Show<String>) async throws {
        guard let content = message.content else { return }
        // updateMessageExpansion by the sender: one object for everyone. Include the keys that stay.
        try await chat.edit(message.id, to: content, metadata: .set(RawJSON(#"{"status": "paid", "table": "4"}"#)))
        // updateMessageExpansion by any member: a type and a value for each user
        try await chat.addAction(type: "answer", value: "yes", to: message.id)
        for action in message.actions where action.type == "answer" { show("\(action.value): \(action.count)") }
        // removeMessageExpansionForKey: the user's own action
        try await chat.removeAction(type: "answer", value: "yes", from: message.id)
    }

    func group(client: ChatClient, show: Show<String>) async throws -> Conversation {
        // createGroup, with invitees
        let group = client.conversation(.newGroup())
        try await group.create(ConversationSettings(name: "Climbing", members: ["bob"])).waitForCompletion()
        // inviteUsersToGroup, addGroupManagers, kickGroupMembers and updateGroupInfo
        try await group.add("carol")  // As a moderator. group.invite("carol") lets the user accept.
        try await group.setRole(.moderator, of: "bob")
        try await group.remove("carol")
        try await group.update(ConversationSettings(name: "Hiking", avatar: "https://example.com/path.png"))
        // getGroupMembers
        let page = try await group.members()
        for member in page.members { show("\(page.profiles[member.id]?.name ?? member.id.text), \(member.role)") }
        return group
    }

    func transfer(group: Conversation) async throws {
        // transferGroupOwner, then quitGroup
        try await group.setRole(.owner, of: "bob")
        try await group.leave()
    }

    func push(client: ChatClient, chat: Conversation, token: Data, isDebugBuild: Bool) async throws {
        // setDeviceTokenData, with the bytes of the system
        try await client.push.register(.apns(token, isDevelopment: isDebugBuild))
        // setPushLanguageCode, setNotificationQuietHours and setConversationNotificationLevel
        var preferences = try await client.push.preferences()
        preferences.language = "zh-CN"
        preferences.quietHours = try QuietHours(from: .init(hour: 22), to: .init(hour: 7))
        try await client.push.setPreferences(preferences)
        try await chat.setNotifications(.mentions)
    }

    func room(client: ChatClient, show: Show<String>) async throws {
        // joinChatRoom, with 10 earlier messages
        let lobby = client.conversation(.room("lobby"))
        let subscription = lobby.subscribe()  // Keep it until the user leaves the room: quitChatRoom.
        show("\(try await lobby.history(limit: 10).messages.count) earlier messages")
        for await state in subscription.states {
            if case .refused(let error) = state { show("not joined: \(error.message)") }
            if state == .live { break }
        }
    }

    @Test("RongCloud's steps after the sign-in have equivalents")
    func porting() async throws {
        let stage = try await Stage(saying: 1)
        _ = try await stage.bob.conversation(.direct("alice")).send(.text("hello")).waitUntilSent()
        try await stage.server.makeCommunity("city", channels: ["general"], members: ["alice", "bob"])
        try await stage.server.makeRoom("lobby")
        var shown: [String] = []
        try await room(client: stage.alice) { shown.append($0) }
        #expect(shown == ["0 earlier messages"])
        let (received, receive) = AsyncStream.makeStream(of: String.self)
        let screen = Task { await self.receive(client: stage.alice) { receive.yield($0) } }
        let theirs = stage.bob.conversation(.direct("alice"))
        // Sent again until the loop runs.
        let sender = Task {
            while !Task.isCancelled {
                try await theirs.send(.text("hello"))
                try await Task.sleep(for: .milliseconds(300))
            }
        }
        for await line in received where line == "direct:bob: hello" { break }
        sender.cancel()
        let general = stage.bob.conversation(.community("city", channel: "general"))
        _ = try await general.send(.text("1")).waitUntilSent()
        #expect(
            try await eventually {
                shown = []
                try await channels(client: stage.alice) { shown.append($0) }
                return shown.contains("general: 1") && shown.last == "1 in all channels"
            })
        shown = []
        let group = try await group(client: stage.alice) { shown.append($0) }
        #expect(shown.contains("Alice, owner") && shown.contains("Bob, moderator"))
        try await transfer(group: group)
        try await push(client: stage.alice, chat: stage.chat, token: Data([1, 2, 3]), isDebugBuild: true)
        #expect(try await stage.chat.recent()?.notifications == .mentions)
        let bill = try await stage.chat.send(.text("bill")).waitUntilSent()
        try await expand(chat: stage.chat, message: bill) { _ in }
        await stage.alice.waitForOutbox()
        #expect(
            try await eventually {
                try await stage.chat.message(bill.id).attributes.metadata?.text.contains("paid") == true
            })
        let sent = try await stage.chat.send(Gift(text: "A gift", amount: 3)).waitUntilSent()
        #expect(!sent.attributes.traits.countsUnread)
        shown = []
        try await gift(chat: stage.chat, message: sent) { shown.append($0) }
        #expect(shown == ["3"])
        await stage.server.close()
        await screen.value
    }
}

extension SendbirdSnippets {
    func connect(server: URL, folder: URL) async throws -> ChatClient {
        // SendbirdChat.initialize, connect and updateCurrentUserInfo
        let client = try await ChatClient.open(
            .init(server: server, user: "alice", store: .directory(folder)) { try await backend.chatToken() })
        client.connect()  // Returns immediately, and reconnects by itself.
        try await client.updateProfile(name: "Alice", avatar: "https://example.com/alice.png")
        return client
    }

    func receive(client: ChatClient, show: Show<String>) async {
        for await event in client.events {
            switch event {
            case .message(let message): show("didReceive: \(message.text ?? "")")
            case .changed(let message): show(message.isDeleted ? "messageWasDeleted" : "didUpdate, or a reaction")
            case .member(let id, let user, let role): show("\(user) \(role == nil ? "left" : "joined") \(id)")
            case .conversation(let id, let isDeleted): show("\(id) was \(isDeleted ? "deleted" : "changed")")
            case .invitation(let invitation): show("\(invitation.by) invites you")
            default: break
            }
        }
    }

    func channel(client: ChatClient) async throws -> Conversation {
        // GroupChannel.createChannel with GroupChannelCreateParams
        let channel = client.conversation(.newGroup())
        try await channel.create(
            ConversationSettings(
                name: "Climbing", avatar: "https://example.com/rock.png", metadata: RawJSON(#"{"type": "sport"}"#),
                members: ["bob"])
        ).waitForCompletion()
        try await channel.setRole(.moderator, of: "bob")  // operatorUserIds
        try await channel.invite("carol")  // inviteUserIds, if the user must accept. channel.add("carol") adds them.
        return channel
    }

    func collection(chat: Conversation, show: Show<[String]>) async {
        // createMessageCollection and startCollection
        let timeline = chat.timeline(at: .firstUnread)
        for await view in timeline.views {
            show(
                view.items.map { item in
                    switch item {
                    case .message(let message): "\(view.profiles[message.sender]?.name ?? ""): \(message.text ?? "")"
                    case .pending(let pending): "sending: \(pending.content.text ?? "")"  // also failedMessages
                    case .gap: "…"  // instead of didDetectHugeGap
                    }
                })
        }
    }

    func thread(chat: Conversation, parent: Message, show: Show<String>) async throws {
        // getThreadedMessages, oldest first
        let page = try await chat.history(.earliest, limit: 20, sort: .oldestFirst, matching: .thread(parent.id))
        for reply in page.messages { show(reply.text ?? "") }
        show("\(parent.replies?.count ?? 0) replies")  // threadInfo
        try await chat.send(.text("me too"), replyingTo: parent.id)  // parentMessageId
    }

    func poll(chat: Conversation, show: Show<String>) async throws {
        // Poll.create, sendUserMessage, votePoll and closePoll
        let message = try await chat.send(.poll(Poll(question: "Which day?", options: ["Sat", "Sun"]))).waitUntilSent()
        try await chat.vote(for: 0, in: message.id)
        for result in try await chat.message(message.id).pollResults ?? [] { show("\(result.option): \(result.votes)") }
        try await chat.closePoll(message.id)
    }

    /// Not run, because it requests a page of another server.
    func preview(client: ChatClient, chat: Conversation, show: Show<String>) async throws {
        // The sender makes what ogMetaData has.
        let text = "Shall we? https://example.org/tours"
        let preview = try? await client.linkPreview(forLinkIn: text)
        let message = try await chat.send(.text(text, preview: preview)).waitUntilSent()
        if let og = message.content?.linkPreview { show("\(og.title) \(og.description ?? "") \(og.url?.host() ?? "")") }
    }

    func push(client: ChatClient, chat: Conversation, token: Data, isDebugBuild: Bool) async throws {
        // registerDevicePushToken, setDoNotDisturb and setPushTriggerOption
        try await client.push.register(.apns(token, isDevelopment: isDebugBuild))
        var preferences = try await client.push.preferences()
        preferences.quietHours = try QuietHours(from: .init(hour: 22), to: .init(hour: 7, minute: 30))
        preferences.level = .mentions
        try await client.push.setPreferences(preferences)
        try await chat.setNotifications(.all)  // setMyPushTriggerOption
    }

    func moderate(chat: Conversation, message: MessageID) async throws {
        // freeze, muteUser, banUser, unbanUser, addOperators and report
        try await chat.update(ConversationSettings(isFrozen: true))
        try await chat.mute("bob", .until(.now + 3600))
        try await chat.ban("mallory", until: .now + 86_400, reason: "spam")
        try await chat.unban("mallory")
        try await chat.setRole(.moderator, of: "carol")
        try await chat.report(message, reason: .harassment, text: "again and again")
    }

    @Test("Sendbird's channels, collections, threads and polls have equivalents")
    func porting() async throws {
        let stage = try await Stage(saying: 1)
        let group = try await channel(client: stage.alice)
        await stage.alice.waitForOutbox()
        #expect(
            try await eventually {
                try await group.members().members.contains { $0.id == "bob" && $0.role == .moderator }
            })
        let parent = try #require(try await stage.messages().first)
        _ = try await stage.bobsChat.send(.text("I do"), replyingTo: parent.id).waitUntilSent()
        var shown: [String] = []
        #expect(try await eventually { try await stage.chat.message(parent.id).replies?.count == 1 })
        try await thread(chat: stage.chat, parent: stage.chat.message(parent.id)) { shown.append($0) }
        #expect(shown == ["I do", "1 replies"])
        shown = []
        try await poll(chat: stage.chat) { shown.append($0) }
        #expect(shown == ["Sat: 1", "Sun: 0"])
        let (views, view) = AsyncStream.makeStream(of: [String].self)
        let screen = Task { await collection(chat: stage.chat) { view.yield($0) } }
        for await lines in views where lines.contains("Bob: 1") { break }
        try await push(client: stage.alice, chat: stage.chat, token: Data([1, 2, 3]), isDebugBuild: true)
        #expect(try await stage.alice.push.preferences().level == .mentions)
        await stage.server.close()
        await screen.value
    }
}

extension NIMSnippets {
    func login(server: URL, folder: URL, show: Show<String>) async throws {
        // registerWithOption, and login or autoLogin
        let client = try await ChatClient.open(
            .init(server: server, user: "alice", store: .directory(folder)) { try await backend.chatToken() })
        client.connect()  // Returns immediately. The local data is available from here on.
        // onLogin, onKickout and onAutoLoginFailed
        for await state in client.connection {
            if state == .online { show("logged in") }
            if case .rejected(let error) = state { show("\(error.code): \(error.message)") }
        }
    }

    func receive(client: ChatClient, show: Show<String>) async {
        for await event in client.events {
            switch event {
            case .message(let message): show("\(message.conversation): \(message.text ?? "")")  // onRecvMessages
            case .changed(let message) where message.isDeleted: show("\(message.id) was revoked")
            case .read(_, let user, let seq): show("\(user) has read up to \(seq)")  // onRecvMessageReceipts
            case .transient(let message):  // onReceiveCustomSystemNotification
                show("\(message.sender): \(message.content.command?.name ?? "")")
            case .member(let id, let user, let role): show("\(user) \(role == nil ? "left" : "joined") \(id)")
            default: break
            }
        }
    }

    func settings(chat: Conversation, photo: URL) async throws {
        // NIMMessage with remoteExt, apnsContent, apnsPayload and a NIMMessageSetting
        try await chat.send(
            .text("hello"), metadata: RawJSON(#"{"level": 3}"#),
            push: PushOptions(text: "Alice says hello", data: #"{"page": "chat"}"#),
            traits: .init(countsUnread: false, notifies: true, updatesRecents: false))
        try await chat.send(.image(.file(photo)))  // NIMImageObject
        // NIMTipObject
        try await chat.send(MessageContent(type: .notice, json: RawJSON(#"{"text": "The call has ended"}"#)))
        // sendCustomNotification, to the users who are connected
        try await chat.send(.command("shake", data: RawJSON(#"{"strength": 2}"#)))
    }

    /// A message type of the app: NIMCustomAttachment.
    struct Snap: CustomContent {
        static let type: MessageType = "com.example.snap"
        static let traits = MessageTraits(countsUnread: false)  // shouldBeCounted NO, for all messages of the type
        var text: String  // Shown by apps that don't know the type.
        var seconds: Int
    }

    func custom(chat: Conversation, message: Message, show: Show<String>) async throws {
        try await chat.send(Snap(text: "A snap", seconds: 5))
        if let snap = try message.content?.custom(Snap.self) { show("\(snap.seconds) s") }  // decodeAttachment
    }

    func team(client: ChatClient, show: Show<String>) async throws -> Conversation {
        // createTeam, addUsers, kickUsers, addManagersToTeam, updateMuteState and updateTeamName
        let team = client.conversation(.newGroup())
        try await team.create(ConversationSettings(name: "Climbing", members: ["bob"])).waitForCompletion()
        try await team.add("carol")  // As a moderator. team.invite("carol") lets the user accept.
        try await team.setRole(.moderator, of: "bob")
        try await team.mute("carol", .forever)
        try await team.remove("carol")
        let announcement = try RawJSON(#"{"announcement": "Saturday at nine"}"#)
        try await team.update(ConversationSettings(name: "Hiking", metadata: announcement))
        // fetchTeamMembers
        let page = try await team.members()
        for member in page.members { show("\(page.profiles[member.id]?.name ?? member.id.text), \(member.role)") }
        return team
    }

    func transfer(team: Conversation) async throws {
        // transferManagerWithTeam, then quitTeam
        try await team.setRole(.owner, of: "bob")
        try await team.leave()
    }

    func push(client: ChatClient, team: Conversation, token: Data, isDebugBuild: Bool) async throws {
        // updateApnsToken, updateApnsSetting and updateNotifyState
        try await client.push.register(.apns(token, isDevelopment: isDebugBuild))
        var preferences = try await client.push.preferences()
        preferences.showsDetail = false  // NIMPushNotificationDisplayTypeNoDetail
        preferences.quietHours = try QuietHours(from: .init(hour: 22), to: .init(hour: 7))  // noDisturbing
        try await client.push.setPreferences(preferences)
        try await team.setNotifications(NotificationLevel.none)  // NIMTeamNotifyStateNone, which mutes no counts
    }

    @Test("NIM's teams, custom messages and settings have equivalents")
    func porting() async throws {
        let server = try TestServer(users: ["alice", "bob", "carol"])
        let client = try await server.client("alice")
        for await state in client.connection where state == .online { break }
        var shown: [String] = []
        let team = try await team(client: client) { shown.append($0) }
        #expect(shown.contains("Alice, owner") && shown.contains("Bob, moderator"))
        let sent = try await team.send(Snap(text: "A snap", seconds: 5)).waitUntilSent()
        shown = []
        try await custom(chat: team, message: sent) { shown.append($0) }
        #expect(shown == ["5 s"])
        #expect(!sent.attributes.traits.countsUnread)
        try await push(client: client, team: team, token: Data([1, 2, 3]), isDebugBuild: true)
        #expect(try await team.recent()?.notifications == NotificationLevel.none)
        try await transfer(team: team)
        await client.waitForOutbox()
        let bobs = try await server.client("bob").conversation(team.id)
        #expect(
            try await eventually { (try? await bobs.members())?.members.map(\.role) == [.owner] })
        await server.close()
    }
}

extension PubNubSnippets {
    func connect(server: URL, folder: URL, show: Show<String>) async throws {
        // PubNubConfiguration, subscribe and the listeners
        let client = try await ChatClient.open(
            .init(server: server, user: "alice", store: .directory(folder)) { try await backend.chatToken() })
        client.connect()  // Returns immediately. Direct conversations and groups need no subscribe.
        let subscription = client.conversation(.community("city", channel: "general")).subscribe()
        for await event in client.events {
            switch event {
            case .message(let message): show("\(message.timetoken): \(message.content?.json.text ?? "")")  // onMessage
            case .changed(let message): show("\(message.actions.count) actions")  // onMessageAction, and edits
            case .transient(let message): show(message.content.json.text)  // onSignal, and messages not stored
            default: break
            }
        }
        withExtendedLifetime(subscription) {}
    }

    /// A payload of the app.
    struct Order: CustomContent {
        static let type: MessageType = "app:order"
        var table: Int
    }

    func payloads(chat: Conversation, message: Message, show: Show<String>) async throws {
        try await chat.send(Order(table: 4))
        if let order = try message.content?.custom(Order.self) { show("table \(order.table)") }
        // A payload that is a list or a number
        try await chat.send(.text("3 values"), extra: RawJSON("[21.5, 22, 21]"))
        show(message.attributes.extra?.text ?? "")
    }

    func memberships(client: ChatClient, show: Show<String>) async throws {
        // setChannelMetadata, setMembers, fetchMembers and fetchMemberships
        let channel = client.conversation(.group("swift"))
        try await channel.create(ConversationSettings(name: "Swift", members: ["bob"])).waitForCompletion()
        try await channel.add("carol").waitForCompletion()
        for member in try await channel.members().members { show(member.id.text) }
        for recent in try await client.recents.view(limit: 100).conversations { show("\(recent.id) \(recent.unread)") }
        // setUserMetadata and fetchUserMetadata
        try await client.updateProfile(name: "Alice", metadata: RawJSON(#"{"team": "red"}"#))
        show(try await client.profiles(of: ["bob"])["bob"]?.name ?? "no name")
    }

    func change(chat: Conversation, id: MessageID) async throws {
        // Instead of a message action for an edit or a deletion
        try await chat.edit(id, to: .text("hello again"))
        try await chat.recall(id)
    }

    func push(client: ChatClient, chat: Conversation, token: Data, isDebugBuild: Bool) async throws {
        // addAPNSDevicesOnChannels: once for the device
        try await client.push.register(.apns(token, isDevelopment: isDebugBuild))
        // removeAPNSDevicesOnChannels, for one channel and all devices of the user
        try await chat.setNotifications(NotificationLevel.none)
        // publish with pn_apns
        var options = PushOptions(title: "Swift", text: "Alice says hello", data: "chats/swift")
        options.ios = PushOptions.IOS()
        options.ios?.threadID = "swift"
        try await chat.send(.text("hello"), push: options)
    }

    @Test("PubNub's payloads, memberships and push have equivalents")
    func porting() async throws {
        let server = try TestServer(users: ["alice", "bob", "carol"])
        let client = try await server.client("alice")
        for await state in client.connection where state == .online { break }
        var shown: [String] = []
        try await memberships(client: client) { shown.append($0) }
        #expect(shown == ["alice", "bob", "carol", "group:swift 0", "Bob"])
        let chat = client.conversation(.group("swift"))
        let sent = try await chat.send(Order(table: 4)).waitUntilSent()
        shown = []
        try await payloads(chat: chat, message: sent) { shown.append($0) }
        #expect(shown == ["table 4", ""])
        let text = try await chat.send(.text("hello")).waitUntilSent()
        try await change(chat: chat, id: text.id)
        #expect(try await eventually { try await chat.message(text.id).isDeleted })
        try await push(client: client, chat: chat, token: Data([1, 2, 3]), isDebugBuild: true)
        await client.waitForOutbox()
        #expect(try await chat.recent()?.notifications == NotificationLevel.none)
        await server.close()
    }
}
